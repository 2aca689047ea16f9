"""A real kube-apiserver with its etcd, in a sandbox. Controllers and nodes are in cluster.py.

It listens on the address of its own service, where every pod looks for it: no kube-proxy is needed.
"""

import contextlib
import dataclasses
import json
import pathlib
import secrets
import ssl
import subprocess
import urllib.request
from collections.abc import Iterator

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests import free_ports
from tests.real.bed import addresses, sandbox
from tests.real.setup import binaries

ADMIN = "admin"
PORT = 443


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ApiServer:
    url: str
    ca_file: pathlib.Path
    admin_token: str
    kubeconfig_path: pathlib.Path
    """For the administrator."""
    signing_key_file: pathlib.Path
    """Signs ServiceAccount tokens; the controller manager needs it too."""
    etcd_url: str
    """Where its history can be compacted."""

    def kubectl(self, *arguments: str, stdin: str = "", version: str = "1.36") -> str:
        """What `kubectl ARGUMENTS` printed; an error with its message when it failed."""
        family = "kubernetes" if version == "1.36" else f"kubectl-{version}"
        own_files = (
            f"--kubeconfig={self.kubeconfig_path}",
            f"--cache-dir={self.kubeconfig_path.parent / 'kubectl-cache'}",
        )
        answer = subprocess.run(
            [binaries.built(family, "kubectl"), *own_files, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )
        assert answer.returncode == 0, f"kubectl {' '.join(arguments)}: {answer.stderr}"
        return answer.stdout

    def write_kubeconfig(self, path: pathlib.Path, token: str) -> pathlib.Path:
        """A kubeconfig for the holder of any token, such as a ServiceAccount's."""
        cluster = {"server": self.url, "certificate-authority": str(self.ca_file)}
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "lading", "cluster": cluster}],
            "users": [{"name": "user", "user": {"token": token}}],
            "contexts": [{"name": "lading", "context": {"cluster": "lading", "user": "user"}}],
            "current-context": "lading",
        }
        path.write_text(json.dumps(content, indent=2))
        return path


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Somebody the API server knows by a fixed token."""

    user: str
    group: str
    token: str = dataclasses.field(default_factory=secrets.token_urlsafe)


@contextlib.contextmanager
def api_server() -> Iterator[ApiServer]:
    with sandbox.sandbox() as place:
        yield start(place)


def start(place: sandbox.Sandbox, *identities: Identity) -> ApiServer:
    folder = place.make_folder("kube-apiserver")
    admin = Identity(user=ADMIN, group="system:masters")
    address = addresses.add(place.folder, addresses.API_SERVER)
    running = ApiServer(
        url=f"https://{address}:{PORT}",
        ca_file=folder / "certificates" / "apiserver.crt",
        admin_token=admin.token,
        kubeconfig_path=folder / "kubeconfig",
        signing_key_file=_write_signing_key(folder / "service-accounts.key"),
        etcd_url=_start_etcd(place),
    )
    tokens = _write_tokens(folder / "tokens.csv", admin, *identities)
    process = place.start(
        "kube-apiserver",
        [
            binaries.built("kubernetes", "kube-apiserver"),
            f"--etcd-servers={running.etcd_url}",
            f"--bind-address={address}",
            f"--secure-port={PORT}",
            "--endpoint-reconciler-type=none",
            f"--cert-dir={running.ca_file.parent}",
            f"--service-cluster-ip-range={addresses.subnet(place.folder)}.{addresses.SERVICES}",
            f"--service-account-key-file={running.signing_key_file}",
            f"--service-account-signing-key-file={running.signing_key_file}",
            f"--service-account-issuer={running.url}",
            f"--token-auth-file={tokens}",
            "--authorization-mode=Node,RBAC",
            "--allow-privileged=true",
        ],
    )
    process.wait_until(lambda: _is_ready(running), what=f"{running.url}/readyz answers ok")
    running.write_kubeconfig(running.kubeconfig_path, admin.token)
    return running


def etcd_data(place: sandbox.Sandbox) -> pathlib.Path:
    """The folder to back up and to restore, while etcd is down."""
    return place.folder / "etcd"


def _start_etcd(place: sandbox.Sandbox) -> str:
    client = f"http://127.0.0.1:{free_ports.find()}"
    peer = f"http://127.0.0.1:{free_ports.find()}"
    place.start(
        "etcd",
        [
            binaries.built("etcd", "etcd"),
            f"--data-dir={etcd_data(place)}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            # The data ends with the sandbox, so it need not survive the machine.
            "--unsafe-no-fsync",
        ],
    )
    return client


def _write_signing_key(path: pathlib.Path) -> pathlib.Path:
    key = ec.generate_private_key(ec.SECP256R1())
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )
    )
    return path


def _write_tokens(path: pathlib.Path, *identities: Identity) -> pathlib.Path:
    lines = (f'{who.token},{who.user},{who.user},"{who.group}"\n' for who in identities)
    path.write_text("".join(lines))
    return path


def _is_ready(running: ApiServer) -> bool:
    try:
        trust = ssl.create_default_context(cafile=str(running.ca_file))
        request = urllib.request.Request(
            f"{running.url}/readyz", headers={"Authorization": f"Bearer {running.admin_token}"}
        )
        with urllib.request.urlopen(request, timeout=2, context=trust) as response:
            return bool(response.status == 200)
    except OSError:  # not there, not trusted, or too slow
        return False
