"""Name the objects that hold profiles, FabricProfile and Configuration, and a fault in one."""

from webhook.core import names
from webhook.core.value_types import Location

PROFILE_KIND = "FabricProfile"
PROFILE_API_VERSION = f"{names.PREFIX}v1alpha1"
PLURAL = "fabricprofiles"
DEFINITION = f"{PLURAL}.{PROFILE_API_VERSION.partition('/')[0]}"
"""Name of the CustomResourceDefinition."""
SETTINGS_KIND = "Configuration"
SETTINGS_API_VERSION = f"config.{names.PREFIX}v1alpha1"
API_VERSIONS = {PROFILE_KIND: PROFILE_API_VERSION, SETTINGS_KIND: SETTINGS_API_VERSION}


class Fault(ValueError):
    """Refuse what stands at *location*.

    *path*: the API server's, ``spec.podLabels[a.b/c]``, where it is not as *location* says.
    *is_blocking*: it keeps the rules around it from evaluation.
    """

    def __init__(
        self, location: Location, message: str, path: str = "", *, is_blocking: bool = False
    ) -> None:
        super().__init__(message)
        self.location = location
        self.path = path
        self.is_blocking = is_blocking
