"""Join distributed-training pods to a cluster's fast fabric: admission webhook and command line.

The folders, each importing only what stands below it (pyproject.toml holds the contracts):

- ``cli``: commands and their flags
- ``control``: the controller's process
- ``diagnose``: check, explain and status
- ``page``: the page
- ``serve``: the webhook's process
- ``http``: HTTP for both processes
- ``world``: what admission asks of a cluster, or of files that stand for one
- ``demo``: sample data
- ``kube``: the API client
- ``presets``: ready-made profiles
- ``dry_run``: the pods of any workload manifest, and what admission answers for them
- ``validate``: all faults of a profile
- ``core``: decide about a pod and a job: values in, values out
"""

__version__ = "0.1.0"
