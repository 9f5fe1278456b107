"""Join distributed-training pods to a cluster's fast fabric: admission webhook, controller and command line.

The layers, each importing only what stands below it (pyproject.toml holds the contract)::

    cli                                                   commands, flags
    server | demo                                         HTTP, logs, metrics
    kube                                                  the cluster, and files that stand for it
    review | dry_run                                      AdmissionReview and workload manifests
    plan                                                  one pod's decisions
    injection                                             one file for each thing that is injected
    workloads                                             one file for each training system
    networks | profiles                                   Multus' grammar, the admin's file
    draft | podspec | quantity | job_key                  reading and changing a pod
    names | model | errors                                the vocabulary
"""

__version__ = "0.1.0"
