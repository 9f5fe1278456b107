"""Join distributed-training pods to a cluster's fast fabric: admission webhook and command line.

The folders, each importing only what stands below it (pyproject.toml holds the contracts)::

    cli                                 commands and their flags
    control | diagnose | page | serve   the controller process; check, explain, status; the page; the webhook process
    http | world                        HTTP for both processes; what admission asks of a cluster, or of files that stand for one
    demo | kube | presets               sample data; the API client; ready-made profiles
    dry_run | validate                  pods of any workload manifest, and what admission answers for
                                        them; all faults of a profile
    core                                decide about a pod and a job: values in, values out
"""

__version__ = "0.1.0"
