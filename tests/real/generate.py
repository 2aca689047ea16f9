"""`python -m tests.real.generate`: writes the built-in kinds of the embedded API server.

They come from the pinned Kubernetes: from a kube-apiserver that runs meanwhile, and from the Go
modules that it is built of. Without an installed kube-apiserver the files stay as they are.
"""

import pathlib
import sys

from tests.real import generate_messages, generate_structures
from tests.real.bed import api_server
from tests.real.bed.api_server import ApiServer
from tests.real.setup import binaries, errors, families, golang

MODULES = ("k8s.io/apimachinery", "k8s.io/api")


def main() -> int:
    try:
        binaries.built("kubernetes", "kube-apiserver")
    except errors.CannotRunHere:
        names = f"{generate_structures.STRUCTURES.name} and {generate_messages.MESSAGES.name}"
        print(
            f"{names} of the embedded API server are not generated: they need a real "
            "kube-apiserver. Install it with `make real-setup ONLY=kube` and run this again."
        )
        return 0
    try:
        with api_server.api_server() as server:
            generate_structures.STRUCTURES.write_text(structures_text(server))
        generate_messages.MESSAGES.write_text(messages_text())
    except errors.CannotRunHere as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def structures_text(server: ApiServer) -> str:
    return generate_structures.text(
        server=server.url, token=server.admin_token, ca_file=server.ca_file
    )


def messages_text() -> str:
    return generate_messages.text(map(_directory, MODULES))


def _directory(module: str) -> pathlib.Path:
    """Where Go has the sources of a module of the pinned Kubernetes."""
    folder = families.MODULES / "kubernetes"
    golang.run(["mod", "download", module], folder=folder, variables={"GOWORK": "off"})
    found = golang.run(
        ["list", "-m", "-f", "{{.Dir}}", module], folder=folder, variables={"GOWORK": "off"}
    )
    return pathlib.Path(found.strip())


if __name__ == "__main__":
    sys.exit(main())
