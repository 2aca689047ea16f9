"""What every handler reads from a request: names and digests, checked before they become paths."""

from aiohttp import web

from lading.kernel import digests, references
from lading.kernel.digests import Digest
from lading.kernel.errors import Malformed
from lading.servers.registry.core import RegistryCore
from lading.servers.registry.faults import Code, Fault

CORE = web.AppKey("core", RegistryCore)


def repository(request: web.Request) -> str:
    return checked_repository(request.match_info["name"])


def checked_repository(name: str) -> str:
    try:
        parsed = references.parse(f"localhost/{name}")
    except Malformed as error:
        raise Fault(Code.NAME_INVALID, error.reason, detail=name) from error
    if parsed.repository != name:
        raise Fault(Code.NAME_INVALID, "expected a repository name only", detail=name)
    return name


def digest(text: str) -> Digest:
    try:
        return digests.parse(text)
    except Malformed as error:
        raise Fault(Code.DIGEST_INVALID, error.reason, detail=text) from error
