"""Name the objects that hold profiles: FabricProfile and Configuration."""

from webhook.core import names

PROFILE_KIND = "FabricProfile"
PROFILE_API_VERSION = f"{names.PREFIX}v1alpha1"
PLURAL = "fabricprofiles"
DEFINITION = f"{PLURAL}.{PROFILE_API_VERSION.partition('/')[0]}"
"""Name of the CustomResourceDefinition."""
SETTINGS_KIND = "Configuration"
SETTINGS_API_VERSION = f"config.{names.PREFIX}v1alpha1"
API_VERSIONS = {PROFILE_KIND: PROFILE_API_VERSION, SETTINGS_KIND: SETTINGS_API_VERSION}
