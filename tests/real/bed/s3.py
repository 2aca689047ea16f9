"""A real S3 server (versitygw) with one bucket, over plain HTTP."""

import dataclasses
import socket
from collections.abc import Mapping

from tests import free_ports
from tests.real.bed import sandbox
from tests.real.setup import binaries

KEY = "test-key"
SECRET = "test-secret"
REGION = "us-east-1"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    host: str
    name: str = "images"

    @property
    def environment(self) -> Mapping[str, str]:
        """What tells a client of S3 about this server."""
        return {
            "AWS_ENDPOINT_URL": f"http://{self.host}",
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": REGION,
        }

    @property
    def driver(self) -> Mapping[str, object]:
        """The storage section of distribution's configuration."""
        options = {
            "accesskey": KEY,
            "secretkey": SECRET,
            "region": REGION,
            "regionendpoint": f"http://{self.host}",
            "bucket": self.name,
            "forcepathstyle": True,
            "secure": False,
            "v4auth": True,
        }
        return {"s3": options, "redirect": {"disable": True}}


def start(place: sandbox.Sandbox, *, address: str = "127.0.0.1") -> Bucket:
    """Pods reach it at an address of the sandbox, not on loopback."""
    folder = place.make_folder(f"s3-{len(place.started)}")
    bucket = Bucket(host=f"{address}:{free_ports.find()}")
    for name in ("metadata", "data", f"data/{bucket.name}"):
        (folder / name).mkdir()
    process = place.start(
        "versitygw",
        [
            binaries.built("versitygw", "versitygw"),
            *("--port", bucket.host, "posix", "--sidecar", folder / "metadata", folder / "data"),
        ],
        ROOT_ACCESS_KEY=KEY,
        ROOT_SECRET_KEY=SECRET,
    )
    process.wait_until(lambda: _listens(bucket.host), what=f"{bucket.host} accepted connections")
    return bucket


def _listens(host: str) -> bool:
    name, _, port = host.partition(":")
    try:
        with socket.create_connection((name, int(port)), timeout=1):
            return True
    except OSError:
        return False
