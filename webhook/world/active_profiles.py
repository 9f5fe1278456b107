"""Hold the profiles that admission uses, from a file or from the objects of the cluster."""

import logging
import threading
from collections.abc import Mapping
from types import MappingProxyType

from webhook.core.profiles import ClusterSettings, Profile, Profiles

log = logging.getLogger(__name__)


class ActiveProfiles:
    """Put together the profiles, the cluster's settings and *own_image*, this program's image.

    *claims_problem*: why no pod gets the claims of its profile.
    """

    def __init__(self, *, own_image: str = "", claims_problem: str = "") -> None:
        self._lock = threading.Lock()
        self._profiles = Profiles(own_image=own_image, claims_problem=claims_problem)

    def current(self) -> Profiles:
        """Return what is in force."""
        return self._profiles

    def put(
        self,
        *,
        profiles: Mapping[str, Profile] | None = None,
        settings: ClusterSettings | None = None,
        claims_problem: str | None = None,
    ) -> None:
        """Put a new part in force, and log which profiles there are now."""
        if profiles is not None:
            log.info("profiles in force: %s", ", ".join(profiles) or "none")
        with self._lock:
            before = self._profiles
            found = before.profiles if profiles is None else MappingProxyType(dict(profiles))
            self._profiles = Profiles(
                multus=before.multus if settings is None else settings.multus,
                profiles=found,
                own_image=before.own_image,
                claims_problem=before.claims_problem if claims_problem is None else claims_problem,
            )
