"""The connection that every pod has: its service account and the environment's address.

The token is a file that the kubelet rotates; it is read again while we run.
"""

from collections.abc import Mapping
from pathlib import Path

from lading.adapters.kube.connection import ConfigurationError, Connection, Trust, User

SERVICE_ACCOUNT_FOLDER = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_HOST = "KUBERNETES_SERVICE_HOST"
_PORT = "KUBERNETES_SERVICE_PORT"


def is_available(environment: Mapping[str, str], folder: Path = SERVICE_ACCOUNT_FOLDER) -> bool:
    return bool(environment.get(_HOST)) and (folder / "token").exists()


def connection(environment: Mapping[str, str], folder: Path = SERVICE_ACCOUNT_FOLDER) -> Connection:
    host, port = environment.get(_HOST, ""), environment.get(_PORT, "")
    if not host or not port:
        raise ConfigurationError(f"{_HOST} and {_PORT} are not set: this is not a pod")
    address = f"[{host}]" if ":" in host else host
    namespace_file = folder / "namespace"
    return Connection(
        server=f"https://{address}:{port}",
        trust=Trust(authority_pem=_read(folder / "ca.crt")),
        user=User(token_file=str(folder / "token")),
        namespace=_read(namespace_file).strip() if namespace_file.exists() else "default",
    )


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{file}: cannot be read: {error}") from error
