"""The client's tests run on the embedded service, with the fixtures of its own tests."""

from tests.embedded.cri.conftest import cri_client, endpoint, registry, root, runtime

__all__ = ["cri_client", "endpoint", "registry", "root", "runtime"]
