"""Look at an installation, or at a cluster before it: profiles, networks, nodes, certificates, privileges, quotas, pods.

`examine` judges what `webhook.diagnose.collect` has read, and reads nothing.
"""

from webhook.diagnose.check.examine import examine
from webhook.diagnose.check.inventory import Inventory, Subject

__all__ = ["Inventory", "Subject", "examine"]
