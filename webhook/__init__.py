"""Join distributed-training pods to a cluster's fast fabric: admission webhook and command line.

The layers, each importing only what stands below it (pyproject.toml holds the contract)::

    cli                                             commands and their flags
    check | controller | explain                    an installation looked at; addresses published; a job looked at
    certsync | server                               certificates kept in the cluster; HTTP, logs, metrics
    demo | kube | profiles_file                     sample data; the cluster, and files that stand for it; hot reload
    dry_run                                         workload manifests in, answers out
    reconcile | review | templates                  who is told which address; AdmissionReview in and out; pods of any workload kind
    plan                                            one pod's decisions
    injection                                       one file for each thing that is injected
    networks | training_container                   Multus' grammar
    workloads                                       one file for each training system
    profiles                                        the admin's file
    accelerators | draft | job_key | pod_check | qualified_name | quantity
    podspec                                         reading a pod
    errors, then finding | model | names            the vocabulary
"""

__version__ = "0.1.0"
