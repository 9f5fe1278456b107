"""Join distributed-training pods to a cluster's fast fabric: admission webhook and command line.

The folders, each importing only what stands below it (pyproject.toml holds the contracts):

- cli: commands and their flags
- control | diagnose | page | serve: the controller's process; check, explain and status; the page;
  the webhook's process
- http | world: HTTP for both processes; what admission asks of a cluster, or of files
- demo | kube | presets: sample data; the API client; ready-made profiles
- dry_run | validate: the pods of any manifest, and what they get; all faults of a profile
- core: decide about a pod and a job: values in, values out
"""

__version__ = "0.1.0"
