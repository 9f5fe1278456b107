"""Look at an installation, or at a cluster before it: profiles, networks, nodes, certificates, privileges, quotas, pods.

`take_inventory` reads the cluster and decides nothing; `examine` judges what was read and reads nothing.
"""

from webhook.check.examine import examine
from webhook.check.inventory import Inventory, ProfilesRead, Subject
from webhook.check.reader import Progress
from webhook.check.survey import take_inventory

__all__ = ["Inventory", "ProfilesRead", "Progress", "Subject", "examine", "take_inventory"]
