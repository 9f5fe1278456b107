"""Run the controller, the only process that writes to the cluster.

``run`` runs one process; of several, the one that holds the Lease writes. ``controller`` watches
the jobs' pods and puts those that wait into ``queue``; ``publisher`` writes their addresses.
``inspector`` looks for pods that wait in vain, and ``events`` sends their owners an Event.
``profile_status`` and ``claim_templates`` keep what belongs to profiles, ``certificates`` those of
the webhook. ``leader_loop`` is the thread of all that is repeated while this replica leads. What to
write and what to complain of is decided in ``webhook.core.reconcile``.
"""
