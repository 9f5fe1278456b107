"""Look at an installation, or at a cluster before it: profiles, networks, nodes, certificates, privileges, quotas, pods.

`take_inventory` reads the cluster and decides nothing; `examine` judges what was read and reads nothing.
"""

from webhook.diagnose.check.examine import examine
from webhook.diagnose.check.inventory import Inventory, ProfilesRead, Subject
from webhook.diagnose.check.reader import Progress
from webhook.diagnose.check.survey import take_inventory

__all__ = ["Inventory", "ProfilesRead", "Progress", "Subject", "examine", "take_inventory"]
