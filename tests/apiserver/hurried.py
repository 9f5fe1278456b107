"""`fabric-injector` whose new CA signs after three seconds, not two minutes: ``python -m tests.apiserver.hurried control``."""

from datetime import timedelta
from functools import partial

from certs import rotation

rotation.Policy = partial(rotation.Policy, settle=timedelta(seconds=3))  # type: ignore[assignment,misc]

if __name__ == "__main__":
    from webhook.cli import main

    main()
