"""The controller manager and the scheduler of a real cluster, beside an API server."""

from tests import free_ports
from tests.real.bed import api_server, sandbox
from tests.real.setup import binaries


def start(place: sandbox.Sandbox, server: api_server.ApiServer, *, controllers: str = "*") -> None:
    """They are ready when what they do is seen; nothing waits for them here."""
    start_controllers(place, server, only=controllers)
    start_scheduler(place, server)


def start_scheduler(place: sandbox.Sandbox, server: api_server.ApiServer) -> None:
    _start(place, "kube-scheduler", server)


def start_controllers(
    place: sandbox.Sandbox, server: api_server.ApiServer, *, only: str = "*"
) -> None:
    """The controller manager, with these of its controllers."""
    _start(
        place,
        "kube-controller-manager",
        server,
        f"--controllers={only}",
        f"--service-account-private-key-file={server.signing_key_file}",
        f"--root-ca-file={server.ca_file}",
    )


def _start(place: sandbox.Sandbox, name: str, server: api_server.ApiServer, *options: str) -> None:
    kubeconfig = f"--kubeconfig={server.kubeconfig_path}"
    place.start(
        name,
        [
            binaries.built("kubernetes", name),
            kubeconfig,
            "--leader-elect=false",
            "--bind-address=127.0.0.1",
            f"--secure-port={free_ports.find()}",
            f"--cert-dir={place.make_folder(name)}",
            *options,
        ],
    )
