"""Which API server and whose credentials, from a pod's files or kubeconfigs."""

import base64
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.tables import cases, table
from webhook.cli.kubeconfig import connect, find_credentials
from webhook.core.errors import InputError
from webhook.kube.credentials import Credentials

IN_POD = {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"}
SERVER = {"server": "https://api.example:6443/prefix/"}


@pytest.fixture
def mounted(tmp_path: Path) -> Path:
    folder = tmp_path / "serviceaccount"
    folder.mkdir()
    (folder / "token").write_text("first\n")
    (folder / "ca.crt").write_text("PEM")
    return folder


def kubeconfig(file: Path, user: Any = None, cluster: Any = None, **more: Any) -> dict[str, str]:
    document = {
        "clusters": [{"name": "c", "cluster": SERVER if cluster is None else cluster}],
        "users": [{"name": "u", "user": user or {}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
        **more,
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(yaml.safe_dump(document))
    return {"KUBECONFIG": str(file)}


@pytest.mark.parametrize(
    ("host", "server"),
    [("10.96.0.1", "https://10.96.0.1:443"), ("fd00::1", "https://[fd00::1]:443")],
    ids=["IPv4", "IPv6"],
)
def test_takes_the_service_account_in_a_pod(mounted: Path, host: str, server: str) -> None:
    found = find_credentials(
        IN_POD | {"KUBERNETES_SERVICE_HOST": host, "KUBECONFIG": "x"}, service_account=mounted
    )
    assert (found.source, found.server, found.ca) == ("service account", server, mounted / "ca.crt")
    assert found.authorization() == "Bearer first"
    assert found.verify


def test_reads_a_token_that_was_replaced_and_keeps_one_that_is_gone(mounted: Path) -> None:
    found = find_credentials(IN_POD, service_account=mounted)
    (mounted / "token").write_text("second")
    assert found.authorization() == "Bearer second"
    (mounted / "token").unlink()
    assert found.authorization() == "Bearer second"
    (mounted / "token").write_text("")
    assert found.authorization() == "Bearer second"


@table(
    "missing, message",
    {
        "CA": ("ca.crt", "{}/ca.crt does not exist; mount the service account's volume whole"),
        "token": ("token", "the token file {}/token is empty or cannot be read; mount or write a"),
    },
)
def test_says_what_a_pod_lacks(mounted: Path, missing: str, message: str) -> None:
    (mounted / missing).unlink()
    if missing == "token":
        (mounted / missing).mkdir()
    with pytest.raises(InputError) as failure:
        find_credentials(IN_POD, service_account=mounted)
    assert str(failure.value).startswith(f"service account: {message.format(mounted)}")


def test_takes_the_kubeconfig_where_no_token_is_mounted(tmp_path: Path) -> None:
    environ = kubeconfig(tmp_path / "config", {"token": "t"})
    assert (
        find_credentials(IN_POD | environ, service_account=tmp_path / "none").authorization()
        == "Bearer t"
    )


def test_names_all_places_where_it_looked(tmp_path: Path) -> None:
    with pytest.raises(
        InputError,
        match=rf"no kubeconfig at {tmp_path}/.kube/config; set KUBECONFIG; dry-run does without",
    ):
        find_credentials({"HOME": str(tmp_path)})
    with pytest.raises(InputError, match=r"no kubeconfig at /none/a, /none/b"):
        find_credentials({"KUBECONFIG": "/none/a::/none/b"})


def test_merges_kubeconfigs_first_come_first_served(tmp_path: Path) -> None:
    kubeconfig(tmp_path / "a", {"token": "a"}, contexts=[])
    kubeconfig(
        tmp_path / "b" / "config",
        {"token": "b"},
        {"server": "https://b.example"},
        **{"current-context": "y"},
    )
    found = find_credentials({"KUBECONFIG": f"{tmp_path}/a:{tmp_path}/none:{tmp_path}/b/config"})
    assert (found.server, found.authorization()) == ("https://api.example:6443/prefix", "Bearer a")


def test_resolves_paths_from_the_file_that_names_them(tmp_path: Path) -> None:
    for name in ("ca", "crt", "key", "token"):
        (tmp_path / name).write_text(name)
    kubeconfig(
        tmp_path / "config",
        {"client-certificate": "crt", "client-key": f"{tmp_path}/key", "tokenFile": "token"},
        {**SERVER, "certificate-authority": "ca", "tls-server-name": "api.internal"},
    )
    found = find_credentials({"KUBECONFIG": str(tmp_path / "config")})
    assert (found.ca, found.certificate, found.key) == (
        tmp_path / "ca",
        tmp_path / "crt",
        tmp_path / "key",
    )
    assert found.server_name == "api.internal"
    assert found.authorization() == "Bearer token"


def test_reads_what_stands_in_the_kubeconfig_itself(tmp_path: Path) -> None:
    encoded = {name: base64.b64encode(name.encode()).decode() for name in ("ca", "crt", "key")}
    environ = kubeconfig(
        tmp_path / "config",
        {
            "client-certificate-data": encoded["crt"],
            "client-key-data": encoded["key"],
            "token": "t",
        },
        {**SERVER, "certificate-authority-data": encoded["ca"], "certificate-authority": "ignored"},
    )
    found = find_credentials(environ)
    files = (found.ca, found.certificate, found.key)
    assert [file and file.read_bytes() for file in files] == [b"ca", b"crt", b"key"]
    assert found.authorization() == "Bearer t"


@table(
    "user, cluster, want",
    {
        "anonymous": ({}, SERVER, ("", True)),
        "basic": ({"username": "u", "password": "p"}, SERVER, ("Basic dTpw", True)),
        "insecure": (
            {"token": "t"},
            {**SERVER, "insecure-skip-tls-verify": True},
            ("Bearer t", False),
        ),
        "nothing secret without TLS": (
            {"token": "t"},
            {"server": "http://api.example"},
            ("", True),
        ),
    },
)
def test_reads_kinds_of_user(
    tmp_path: Path, user: Any, cluster: Any, want: tuple[str, bool]
) -> None:
    found = find_credentials(kubeconfig(tmp_path / "config", user, cluster))
    assert (found.authorization(), found.verify) == want


WRONG = """
server    | cluster: {server: a} | server is no http or https URL; write https://HOST:PORT
skip      | cluster: {insecure-skip-tls-verify: 'no'} | insecure-skip-tls-verify is no boolean;
no file   | cluster: {certificate-authority: none} | File does not exist: FOLDER/none; see `kubectl
empty CA  | cluster: {certificate-authority: empty} | certificate authority: not usable
socks     | cluster: {proxy-url: 'socks5://p'} | proxy-url: only http and https proxies are
half pair | user: {client-certificate-data: YQ==} | client certificate and key: not usable
another   | user: {token: t, as: admin} | as: impersonation is not read of a kubeconfig; give --as
context   | current-context: y | Invalid kube-config file. Expected object with name y in
cluster   | clusters: [] | Invalid kube-config file. Expected object with name c in
user      | users: {} | Invalid kube-config file. Expected object with name u in
"""


@pytest.mark.parametrize(("written", "message"), cases(WRONG))
def test_says_what_is_wrong(tmp_path: Path, written: str, message: str) -> None:
    (tmp_path / "empty").touch()
    parts = yaml.safe_load(written)
    user, cluster = parts.pop("user", None), SERVER | parts.pop("cluster", {})
    environ = kubeconfig(tmp_path / "config", user, cluster, **parts)
    with pytest.raises(InputError) as failure:
        connect(environ)
    title = f"kubeconfig {tmp_path}/config, context {parts.get('current-context', 'x')}"
    assert str(failure.value).startswith(f"{title}: {message.replace('FOLDER', str(tmp_path))}")


@pytest.mark.parametrize("users", [[{"user": {}}], [{"name": "u", "user": 1}], "u", 7], ids=repr)
def test_what_is_no_kubeconfig_gives_no_traceback(tmp_path: Path, users: Any) -> None:
    environ = kubeconfig(tmp_path / "config", users=users)
    with pytest.raises(InputError, match=r": (it is not|Invalid) .*; see `kubectl config"):
        find_credentials(environ)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [\n", "while parsing a flow node"),
        ("7", "it is not written as a kubeconfig is; see `kubectl config view`"),
        ("", "Invalid kube-config. FOLDER/config file is empty"),
        ("current-context: ''", "current-context: not set; run `kubectl config use-context NAME`"),
    ],
)
def test_names_the_file_that_is_no_kubeconfig(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "config").write_text(text)
    with pytest.raises(InputError) as failure:
        find_credentials({"KUBECONFIG": str(tmp_path / "config")})
    told = f"kubeconfig {tmp_path}/config: {message.replace('FOLDER', str(tmp_path))}"
    assert str(failure.value).startswith(told)


def test_says_what_to_correct_where_a_kubeconfig_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot be read \(Is a directory\); correct its path"):
        find_credentials({"KUBECONFIG": str(tmp_path)})


PROXY = "http://proxy.example:3128"


PROXIES = """
none asked for | https://api.example      | {}                                              |
for https      | https://api.example      | {HTTPS_PROXY: PROXY}                            | PROXY
lower case     | https://api.example      | {https_proxy: 'proxy.example:3128'}             | PROXY
not for a zone | https://api.example      | {HTTPS_PROXY: PROXY, NO_PROXY: .example}        |
in the range   | https://10.1.2.3:6443    | {HTTPS_PROXY: PROXY, NO_PROXY: 10.0.0.0/8}      |
loopback       | https://127.0.0.1:6443   | {HTTPS_PROXY: PROXY}                            |
localhost      | https://localhost:6443   | {HTTPS_PROXY: PROXY}                            |
"""


@pytest.mark.parametrize(("server", "environ", "want"), cases(PROXIES))
def test_goes_through_the_proxy_that_the_environment_asks_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: str, environ: str, want: str
) -> None:
    for key in ("HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy"):
        monkeypatch.delenv(key, raising=False)
    for key, value in yaml.safe_load(environ).items():
        monkeypatch.setenv(key, value.replace("PROXY", PROXY))
    config = kubeconfig(tmp_path / "config", cluster={"server": server})
    assert find_credentials(config).proxy == want.replace("PROXY", PROXY)
    other = "http://other.example"
    config = kubeconfig(tmp_path / "config", cluster={"server": server, "proxy-url": other})
    assert find_credentials(config).proxy == other


PLUGIN = """\
#!/bin/sh
count=$(cat count 2>/dev/null || echo 0)
count=$((count + 1))
echo $count > count
api=client.authentication.k8s.io/v1
echo '{"apiVersion": "'$api'", "kind": "ExecCredential", "status": STATUS}' | sed "s/N/$count/"
"""


PLUGIN_USER = {
    "apiVersion": "client.authentication.k8s.io/v1",
    "command": "./plugin",
    "interactiveMode": "Never",
}


def write_plugin(folder: Path, status: str) -> None:
    (folder / "plugin").write_text(PLUGIN.replace("STATUS", status))
    (folder / "plugin").chmod(0o755)


def with_plugin(folder: Path, status: str) -> Credentials:
    write_plugin(folder, status)
    return find_credentials(kubeconfig(folder / "config", {"exec": PLUGIN_USER}))


def test_asks_a_plugin_again_when_its_token_has_expired(tmp_path: Path) -> None:
    found = with_plugin(tmp_path, '{"token": "tN", "expirationTimestamp": "2020-01-01T00:00:00Z"}')
    first = found.authorization()
    assert first.startswith("Bearer t")
    assert found.authorization() != first


def test_takes_token_or_certificate_from_a_plugin(tmp_path: Path) -> None:
    found = with_plugin(tmp_path, '{"token": "tN"}')
    assert [found.authorization() for _ in range(3)] == ["Bearer t1"] * 3
    found = with_plugin(tmp_path, '{"clientCertificateData": "CERT", "clientKeyData": "KEY"}')
    files = (found.certificate, found.key)
    assert [file and file.read_text() for file in files] == ["CERT", "KEY"]


def test_does_not_load_the_client_library_in_a_pod(mounted: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from webhook.cli import kubeconfig\n"
        "import webhook.serve.run, webhook.control.run, webhook.world.cluster\n"
        f"found = kubeconfig.find_credentials({IN_POD!r}, service_account=Path({str(mounted)!r}))\n"
        "print(found.source, 'kubernetes' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "service account False\n"


def test_a_chosen_kubeconfig_or_context_goes_before_all(tmp_path: Path, mounted: Path) -> None:
    (mounted / "namespace").write_text("here\n")
    contexts = [
        {"name": "x", "context": {"cluster": "c", "user": "u"}},
        {"name": "y", "context": {"cluster": "c", "user": "u", "namespace": "research"}},
    ]
    environ = IN_POD | kubeconfig(tmp_path / "config", contexts=contexts)
    assert find_credentials(environ, service_account=mounted).namespace == "here"
    found = find_credentials(environ, service_account=mounted, context="y")
    assert (found.source, found.namespace) == (
        f"kubeconfig {tmp_path / 'config'}, context y",
        "research",
    )
    found = find_credentials(IN_POD, service_account=mounted, kubeconfig=tmp_path / "config")
    assert (found.source, found.namespace) == (f"kubeconfig {tmp_path / 'config'}, context x", "")
