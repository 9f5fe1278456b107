"""Run the controller, the only process that writes to the cluster: it publishes the secondary addresses of jobs on their pods.

``run`` runs one process. ``controller`` watches the jobs' pods and puts what lacks an address into ``queue``; ``publisher`` writes
it, in one replica at a time, which ``webhook.kube.lease`` elects. ``inspector`` looks for pods that wait in vain, and ``events``
sends their owners an Event. ``leader_loop`` is the thread of all that is done again and again while this replica leads. What to
write and what to complain of is decided in ``webhook.core.reconcile``. ``certificates`` keeps the webhook's certificates.
"""
