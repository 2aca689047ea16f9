"""The tables of docs/features.md: gates, kinds and rights of the features.

Each stands between two comments of the page; what is written around them stays.
"""

from collections.abc import Iterable, Iterator

from lading.api.rbac import NAMESPACE, Process, Right
from lading.loop.feature import Feature, Kind
from lading.wiring import generate_rbac, marked_tables
from lading.wiring.marked_tables import head
from lading.wiring.rights import rights_of


def with_tables(page: str, features: Iterable[Feature]) -> str:
    """The page with its tables up to date."""
    features = tuple(features)
    tables = {
        "gates": _gates(features),
        "kinds": _kinds(features),
        "rights": _rights(features),
        "rights of pruning": _pruner_rights(),
        "rights of users": _user_rights(features),
    }
    for name, rows in tables.items():
        page = marked_tables.with_table(page, name, rows)
    return page


def _gates(features: tuple[Feature, ...]) -> Iterator[tuple[str, ...]]:
    yield from head("gate", "default", "feature", "while the gate is off")
    for one in features:
        what = f"{one.name}: {one.summary}"
        if one.gate is None:
            yield "none", "always on", what, ""
            continue
        yield f"`{one.gate.name}`", "on" if one.gate.default else "off", what, one.gate.off


def _kinds(features: tuple[Feature, ...]) -> Iterator[tuple[str, ...]]:
    yield from head("kind", "versions", "belongs to", "read by")
    ours = {one.name for feature in features for one in feature.owns}
    readers: dict[Kind, list[str]] = {}
    for feature in features:
        for process, parts in (("controller", feature.controller), ("agent", feature.agent)):
            for kind in dict.fromkeys(kind for part in parts for kind in part.reads):
                readers.setdefault(kind, []).append(f"{feature.name} ({process})")
    for kind, names in readers.items():
        owner = "Lading" if kind.name in ours else _owner(kind)
        yield f"`{kind.name}`", " or ".join(kind.versions), owner, ", ".join(names)


def _owner(kind: Kind) -> str:
    group = kind.resource.group
    return "Kubernetes" if "." not in group or group.endswith(".k8s.io") else "others"


def _rights(features: tuple[Feature, ...]) -> Iterator[tuple[str, ...]]:
    yield from head("process", "API group", "resources", "verbs", "where")
    for process in Process:
        for right in rights_of(process, features):
            yield process, *_cells(right, process.namespace)


def _pruner_rights() -> Iterator[tuple[str, ...]]:
    """A right that several roles have is one row."""
    yield from head("ClusterRole", "API group", "resources", "verbs", "where")
    holders: dict[tuple[str, ...], list[str]] = {}
    for role, granted in generate_rbac.pruner_rights().items():
        for right in granted:
            holders.setdefault(_cells(right), []).append(f"`{role}`")
    for cells, names in holders.items():
        yield ", ".join(names), *cells


def _user_rights(features: tuple[Feature, ...]) -> Iterator[tuple[str, ...]]:
    """Without where: that is for the binding of the user to say."""
    yield from head("ClusterRole", "API group", "resources", "verbs")
    for role, granted in generate_rbac.user_rights(features).items():
        for right in granted:
            *cells, _ = _cells(right)
            yield f"`{role}`", *cells


def _cells(right: Right, own_namespace: str = NAMESPACE) -> tuple[str, ...]:
    resources = ", ".join(right.resources)
    return right.group or "core", resources, ", ".join(right.verbs), _where(right, own_namespace)


def _where(right: Right, own_namespace: str) -> str:
    known = {NAMESPACE: "the namespace of the controller", own_namespace: "its own namespace"}
    where = " and ".join(known.get(one, f"namespace `{one}`") for one in right.namespaces)
    named = f", only {', '.join(f'`{name}`' for name in right.names)}" if right.names else ""
    optional = f", with the overlay `{right.overlay}`" if right.overlay else ""
    return f"{where or 'cluster'}{named}{optional}"
