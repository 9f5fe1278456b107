"""Publish the secondary addresses of jobs: the only part that writes to the cluster.

``controller`` wires a watch of the jobs' pods to ``queue``, whose units ``publisher`` carries out; ``lease`` lets one replica at a
time write; ``inspector`` looks for pods that wait in vain, and ``events`` tells their owners. What to write and what to complain
of is decided in ``webhook.core.reconcile``. ``run`` wires one process.
"""
