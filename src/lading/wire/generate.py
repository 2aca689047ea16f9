"""Compiles the `.proto` files beside this module into the Python modules beside them.

Needs grpcio-tools, a development dependency; the result is committed and a test compares it.
"""

import importlib.resources
from pathlib import Path

from grpc_tools import protoc  # type: ignore[import-untyped]

WIRE = Path(__file__).parent
ROOT = WIRE.parent.parent


def generate(destination: Path) -> None:
    """Writes `lading/wire/*_pb2.py` and `.pyi` under the destination."""
    well_known = importlib.resources.files("grpc_tools") / "_proto"
    arguments = ["protoc", f"-I{ROOT}", f"-I{well_known}"]
    arguments += [f"--python_out={destination}", f"--pyi_out={destination}"]
    arguments += sorted(str(proto) for proto in WIRE.glob("*.proto"))
    if protoc.main(arguments) != 0:
        raise SystemExit("protoc refused the files in lading/wire; its message is above")


if __name__ == "__main__":
    generate(ROOT)
