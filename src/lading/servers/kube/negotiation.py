"""Which form an answer takes: the object, a Table, or only its metadata; always as JSON."""

from enum import StrEnum

import msgspec

from lading.servers.kube import status

_META = "meta.k8s.io"


class Form(StrEnum):
    OBJECT = ""
    TABLE = "Table"
    METADATA = "PartialObjectMetadata"
    METADATA_LIST = "PartialObjectMetadataList"


class _Clause(msgspec.Struct, frozen=True, kw_only=True):
    media_type: str
    parameters: dict[str, str]


def form(accept: str) -> Form:
    """The first clause that can be served wins, as kube-apiserver has it; no clause means JSON."""
    for clause in _clauses(accept):
        wanted = clause.parameters.get("as", "")
        if clause.media_type not in ("application/json", "*/*", "application/*"):
            continue
        if not wanted:
            return Form.OBJECT
        known = clause.parameters.get("g") == _META and clause.parameters.get("v") == "v1"
        if known and wanted in (each.value for each in Form):
            return Form(wanted)
    raise status.not_acceptable(["application/json"])


def wants(accept: str, *, group: str, version: str, kind: str) -> bool:
    """Whether a clause asks for that kind of document, before any plainer one."""
    for clause in _clauses(accept):
        parameters = clause.parameters
        if clause.media_type != "application/json":
            continue
        if (parameters.get("g"), parameters.get("v"), parameters.get("as")) == (
            group,
            version,
            kind,
        ):
            return True
        if "as" not in parameters:
            return False
    return False


def _clauses(accept: str) -> list[_Clause]:
    found = []
    for text in (accept or "*/*").split(","):
        media_type, *rest = (part.strip() for part in text.split(";"))
        pairs = (part.partition("=") for part in rest)
        parameters = {key.strip(): value.strip() for key, _, value in pairs}
        found.append(_Clause(media_type=media_type.lower(), parameters=parameters))
    return found
