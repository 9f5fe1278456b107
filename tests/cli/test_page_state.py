"""What the page's form is given."""

from tests.profiles import profiles
from webhook import __version__
from webhook.core import names
from webhook.core.model import Namespace
from webhook.page.app import state_document


def test_names_profiles_and_namespaces() -> None:
    watched = {names.PROFILE: "rails", names.MODE: names.MODE_OBSERVE}
    spaces = [Namespace("b", watched), Namespace("a", {})]
    assert state_document(profiles("{rails: {}, bare: {}}"), spaces, ["pods: not listed yet"]) == {
        "version": __version__,
        "problems": ["pods: not listed yet"],
        "namespaces": [
            {"name": "a", "profile": "", "observed": False},
            {"name": "b", "profile": "rails", "observed": True},
        ],
        "profiles": [{"name": "bare"}, {"name": "rails"}],
    }
