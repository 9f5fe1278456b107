"""Fixtures of clusters, for every tier: a conftest imports what it uses, and overrides the rest.

    def test_pod(api, namespace, webhook):
        assert api.create(pod, namespace("rdma-shared")).status == 201

`webhook` serves the module's PROFILES, else those of jobs.py. A folder or module that overrides
`control_plane` has all else on its own.
"""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import NoReturn, TypeVar
from uuid import uuid4

import pytest

from tests.waiting import wait_until
from tests.worlds import network
from webhook.core.names import PROFILE
from webhook.core.profiles import parse_profiles

from .assets import AssetsUnavailable, assets, binary
from .audit import Audit
from .client import Client
from .controller import ACCOUNT, Controller, leading_controller
from .controlplane import ACCESS, ControlPlane
from .jobs import PROFILES
from .objects import made
from .webhook import Webhook, installed_command

Made = TypeVar("Made")


def unavailable(reason: str) -> NoReturn:
    """Skip with the reason, but fail under CI=true, where nothing may go untested."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def needed(make: Callable[..., Made], *arguments: object) -> Made:
    """Give what the function makes; skip, or fail under CI=true, where that is unavailable."""
    try:
        return make(*arguments)
    except AssetsUnavailable as problem:
        unavailable(str(problem))


def built(config: pytest.Config, make: Callable[..., Made], *arguments: object) -> Made:
    """Do as `needed`, and show what the function says meanwhile: a build takes minutes."""
    capture = config.pluginmanager.getplugin("capturemanager")
    with nullcontext() if capture is None else capture.global_and_fixture_disabled():
        return needed(make, *arguments)


def program(name: str) -> Path:
    """Give the path of a program that is built from Go modules, as `needed`."""
    return needed(binary, name)


@contextmanager
def ended_by_sigterm() -> Iterator[None]:
    """Let SIGTERM end the tests as Ctrl-C does, so that what they started is stopped."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class NamespaceFactory:
    """Creates namespaces, each with its ServiceAccount; `made` holds their names."""

    def __init__(self, plane: ControlPlane) -> None:
        self.made: list[str] = []
        self._plane = plane

    def __call__(
        self, profile: str | None = None, labels: dict[str, str] | None = None, name: str = ""
    ) -> str:
        """Create one with the profile's label and more labels; give its name."""
        own = {} if profile is None else {PROFILE: profile}
        name = name or f"test-{uuid4().hex[:8]}"
        self.made.append(self._plane.create_namespace(name, own | (labels or {})))
        return name


@pytest.fixture(scope="session")
def programs(pytestconfig: pytest.Config) -> None:
    """Have the programs of a control plane at hand."""
    built(pytestconfig, assets)


@pytest.fixture(scope="session")
def control_plane(
    programs: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ControlPlane]:
    """Run etcd and kube-apiserver for all tests."""
    with ended_by_sigterm(), ControlPlane(tmp_path_factory.mktemp("control-plane")) as running:
        yield running


@pytest.fixture(scope="session")
def api(control_plane: ControlPlane) -> Client:
    """Give the administrator's client."""
    return control_plane.api


@pytest.fixture(scope="session")
def namespace(control_plane: ControlPlane) -> NamespaceFactory:
    """Give what creates namespaces; they stay until the end."""
    return NamespaceFactory(control_plane)


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> Audit:
    """Give the audit log of `plane`."""
    return Audit(tmp_path_factory.mktemp("audit"))


@pytest.fixture(scope="module")
def plane(
    request: pytest.FixtureRequest,
    programs: None,
    audit: Audit,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[ControlPlane]:
    """Run a control plane of the module's own, with its FLAGS, for what changes it."""
    flags = (*getattr(request.module, "FLAGS", ()), *audit.flags)
    with ControlPlane(tmp_path_factory.mktemp("plane"), *flags) as running:
        yield running


@pytest.fixture(scope="session")
def installed(control_plane: ControlPlane) -> ControlPlane:
    """Install the shipped accounts, privileges and policies, and wait until they count."""
    control_plane.kubectl("apply", *(f"--filename={file}" for file in ACCESS))
    client = control_plane.client(control_plane.service_account_token(*ACCOUNT))
    lease = made("coordination.k8s.io/v1 Lease", "probe")
    refused = "may create no Lease but fabric-injector"
    wait_until(
        lambda: refused in client.create(lease, ACCOUNT[0], dry_run=True).message,
        "the API server to enforce the admission policies",
    )
    return control_plane


@pytest.fixture(scope="module")
def controller_manager(control_plane: ControlPlane) -> Iterator[ControlPlane]:
    """Run kube-controller-manager for the tests of one module."""
    needed(control_plane.start_controller_manager)
    yield control_plane
    control_plane.stop_controller_manager()


@pytest.fixture(scope="session")
def webhook_command() -> list[str]:
    """Give the command that is installed in this Python environment."""
    command = installed_command()
    if command is None:
        unavailable("fabric-injector is not installed in this Python environment")
    return command


@pytest.fixture(scope="module")
def webhook_profiles(
    request: pytest.FixtureRequest, api: Client, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Write the module's PROFILES, and make the networks that they name."""
    text = getattr(request.module, "PROFILES", PROFILES)
    for profile in parse_profiles(text).profiles.values():
        for each in profile.networks:
            named = each.network
            resource = "" if each.resources else f"nvidia.com/{named.name}"
            api.ensure(network(f"{named.namespace}/{named.name}", resource))
    path = tmp_path_factory.mktemp("profiles") / "profiles.yaml"
    path.write_text(text)
    return path


@pytest.fixture(scope="module")
def webhook(
    control_plane: ControlPlane,
    webhook_profiles: Path,
    webhook_command: list[str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Webhook]:
    """Run the real server for one module, registered, with the privileges of its own account."""
    folder = tmp_path_factory.mktemp("webhook")
    with Webhook(control_plane, folder, webhook_profiles, webhook_command) as running:
        yield running


@pytest.fixture(scope="module")
def controller(
    control_plane: ControlPlane,
    webhook_command: list[str],
    namespace: NamespaceFactory,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Controller]:
    """Run a controller that leads, for the tests of one module."""
    folder = tmp_path_factory.mktemp("controller")
    with leading_controller(control_plane, folder, webhook_command, namespace()) as running:
        yield running
