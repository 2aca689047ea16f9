"""The way to an API server that grants the controller, or a Job, only what `deploy/` grants it."""

import json
from dataclasses import dataclass, field

from lading.api.rbac import CLUSTER_ROLE_BINDINGS, RBAC_GROUP, Process, Right
from lading.ports.http import HttpTransport, Request, Response
from lading.pruning.engine import rights as engine_rights
from lading.pruning.feature import REPORT_MAP_RIGHTS, REPORT_RIGHTS
from lading.wiring.features import FEATURES
from lading.wiring.rights import rights_of

CONTROLLER = tuple(one for one in rights_of(Process.CONTROLLER, FEATURES) if not one.overlay)
JOB = (*engine_rights.RIGHTS, *REPORT_RIGHTS, *REPORT_MAP_RIGHTS)
VERBS = {"POST": "create", "PATCH": "patch", "PUT": "update", "DELETE": "delete"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    verb: str
    group: str
    resource: str
    namespace: str = ""
    name: str = ""

    def is_granted(self, rights: tuple[Right, ...]) -> bool:
        return any(
            self.verb in one.verbs
            and one.group == self.group
            and self.resource in one.resources
            and (not one.names or self.name in one.names)
            and (not one.namespaces or self.namespace in one.namespaces)
            for one in rights
        )


@dataclass
class Granted:
    server: HttpTransport
    rights: tuple[Right, ...]
    refused: list[Asked] = field(default_factory=list)

    async def __call__(self, request: Request) -> Response:
        missing = [one for one in asked(request) if not one.is_granted(self.rights)]
        if missing:
            self.refused += missing
            body = {"kind": "Status", "reason": "Forbidden", "message": str(missing), "code": 403}
            return Response(status=403, body=json.dumps(body).encode())
        return await self.server(request)


def asked(request: Request) -> list[Asked]:
    """A list of one name is restricted by name, too; to bind a role is a right of its own."""
    first, *parts = request.path.strip("/").split("/")
    group, rest = ("", parts[1:]) if first == "api" else ("".join(parts[:1]), parts[2:])
    if not rest:
        return []  # about the API, not about an object
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2:
        namespace, rest = rest[1], rest[2:]
    query = dict(request.query)
    selected = query.get("fieldSelector", "").removeprefix("metadata.name=")
    name = rest[1] if len(rest) > 1 else selected
    reading = "get" if len(rest) > 1 else "watch" if "watch" in query else "list"
    resource = "/".join((rest[0], *rest[2:]))
    verb = VERBS.get(request.method, reading)
    found = [Asked(verb=verb, group=group, resource=resource, namespace=namespace, name=name)]
    if verb == "create" and resource == CLUSTER_ROLE_BINDINGS.plural:
        role = json.loads(request.body)["roleRef"]["name"]
        found.append(Asked(verb="bind", group=RBAC_GROUP, resource="clusterroles", name=role))
    return found
