"""The rights of the processes as manifests: ServiceAccounts, Roles and their bindings.

Rights of an optional overlay are in a folder of their own, which a kustomize component includes.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

from lading.api.rbac import NAMESPACE, READ, Process, Right
from lading.loop.feature import Feature
from lading.pruning.engine import rights as engine_rights
from lading.pruning.feature import REPORT_MAP_RIGHTS, REPORT_RIGHTS
from lading.pruning.operator.types import OBJECT_NAME, OPENSHIFT_ROLE
from lading.wiring.features import definitions_of
from lading.wiring.rights import rights_of

HEADER = "# Generated from the features by `make generate`; do not edit.\n"
FOLDER = Path("deploy/chart/files")
"""Read by the Helm chart and by kustomize. Helm reads no file outside of the chart."""
_LINE_CHARACTERS_MAX = 100
_PRUNER, _PRUNER_OWN = "lading-pruner", "lading-pruner-references"
_ACCOUNT = """\
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {name}
  namespace: {namespace}
"""
_CLUSTER_ROLE = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {name}
rules:
{rules}"""
_ROLE = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: {kind}
metadata:
  name: {name}{namespace}
rules:
{rules}"""
_BINDING = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: {kind}Binding
metadata:
  name: {name}{namespace}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {kind}
  name: {name}
subjects:
  - kind: ServiceAccount
    name: {account}
    namespace: {own_namespace}
"""
_LABELLED_ROLE = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {name}
  labels:
    {label}: "true"
rules:
{rules}"""
_AGGREGATED_ROLE = """\
# Its rules are those of all ClusterRoles with the label; add one for each kind of --custom-path.
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {name}
aggregationRule:
  clusterRoleSelectors:
    - matchLabels:
        {label}: "true"
"""
_PRUNER_LABEL = "lading.dev/aggregate-to-pruner"
_USER_LABEL = "rbac.authorization.k8s.io/aggregate-to-"
_WRITE = ("create", "update", "patch", "delete", "deletecollection")
WRITTEN_BY_USERS = {
    "pinnedimagesets": "edit",
    "images": "edit",
    "settings": "admin",
    "machineconfigpools": "admin",
    "machineconfigurations": "admin",
    "imagepruners": "admin",
}
"""The standard role that may write a kind. Only Lading writes the other kinds."""
_FIXED = Path("deploy/fixed-namespaces")
_FIXED_KUSTOMIZATION = """\
# For a kustomization with `namespace:`, which changes the namespace of every Role. List this folder
# under `transformers:`, so that Roles for other namespaces stay there.
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
  - transformers.yaml
"""
_PUT_BACK = """\
apiVersion: builtin
kind: PatchTransformer
metadata:
  name: {role}
patch: '[{{"op": "replace", "path": "/metadata/namespace", "value": "{namespace}"}}]'
target:
  group: rbac.authorization.k8s.io
  kind: (Role|RoleBinding)
  name: {role}
"""
_SUBJECTS = """\
apiVersion: builtin
kind: ReplacementTransformer
metadata:
  name: {account}
replacements:
  - source:
      kind: ServiceAccount
      name: {account}
      fieldPath: metadata.namespace
    targets:
{targets}"""
_SUBJECT = """\
      - select:
          kind: RoleBinding
          name: {role}
        fieldPaths: [subjects.0.namespace]
"""


def files(features: tuple[Feature, ...]) -> dict[Path, str]:
    """The content of each file, by its path in the repository."""
    granted_to = {process: rights_of(process, features) for process in Process}
    made = {FOLDER / "base/rbac.yaml": _file(_base(granted_to))}
    overlays = {right.overlay for granted in granted_to.values() for right in granted}
    for overlay in sorted(overlays - {""}):
        made[FOLDER / overlay / "rbac.yaml"] = _file(_overlay(overlay, granted_to))
    made[_FIXED / "kustomization.yaml"] = HEADER + _FIXED_KUSTOMIZATION
    made[_FIXED / "transformers.yaml"] = _file(_transformers(granted_to))
    made[FOLDER / "base/image-pruner-rbac.yaml"] = _file(_image_pruner())
    made[FOLDER / "base/user-roles.yaml"] = _file(_user_roles(features))
    made[FOLDER / "pruner/rbac.yaml"] = _file(_pruner())
    return made


def _transformers(granted_to: dict[Process, tuple[Right, ...]]) -> Iterator[str]:
    """Moves Roles back that `namespace:` of a kustomization moved, and updates their subjects."""
    for process, granted in granted_to.items():
        account = f"lading-{process}"
        found = {
            (right.overlay, namespace)
            for right in granted
            for namespace in right.namespaces
            if namespace != NAMESPACE
        }
        roles = {
            _role_name(f"{account}-{overlay}" if overlay else account, namespace): namespace
            for overlay, namespace in sorted(found)
        }
        for role, namespace in roles.items():
            yield _PUT_BACK.format(role=role, namespace=namespace)
        if roles:
            targets = "".join(_SUBJECT.format(role=role) for role in roles)
            yield _SUBJECTS.format(account=account, targets=targets)


def _role_name(name: str, namespace: str) -> str:
    """Unique, because `namespace:` of a kustomization moves all Roles into one namespace."""
    return name if namespace in ("", NAMESPACE) else f"{name}-{namespace}"


def pruner_rights() -> dict[str, tuple[Right, ...]]:
    """By ClusterRole: of the ImagePruner's Jobs, and of `lading prune` in a pod."""
    return {
        OBJECT_NAME: (*engine_rights.RIGHTS, *REPORT_RIGHTS),
        OPENSHIFT_ROLE: (*engine_rights.RIGHTS_BESIDE_SYSTEM_ROLE, *REPORT_RIGHTS),
        _PRUNER: engine_rights.RIGHTS,
    }


def _image_pruner() -> Iterator[str]:
    """The roles that the controller binds to the account of the ImagePruner's Jobs."""
    granted_to = pruner_rights()
    for name in (OBJECT_NAME, OPENSHIFT_ROLE):
        yield _CLUSTER_ROLE.format(name=name, rules=rules(granted_to[name]))
    yield from _roles(OBJECT_NAME, OBJECT_NAME, REPORT_MAP_RIGHTS)


def user_rights(features: tuple[Feature, ...]) -> dict[str, tuple[Right, ...]]:
    """What Kubernetes adds to view, edit and admin. admin also has the rights of edit."""
    definitions = {one.name: one for one in definitions_of(features)}.values()
    return {
        name: tuple(
            Right(
                group=one.group, resources=(one.plural,), verbs=READ if name == "view" else _WRITE
            )
            for one in definitions
            if name in ("view", WRITTEN_BY_USERS.get(one.plural))
        )
        for name in ("view", "edit", "admin")
    }


def _user_roles(features: tuple[Feature, ...]) -> Iterator[str]:
    for name, granted in user_rights(features).items():
        yield _LABELLED_ROLE.format(
            name=f"lading-{name}", label=_USER_LABEL + name, rules=rules(granted)
        )


def _pruner() -> Iterator[str]:
    """The account of `lading prune` in a pod. Its role aggregates all roles with the label."""
    yield _ACCOUNT.format(name=_PRUNER, namespace=NAMESPACE)
    yield _AGGREGATED_ROLE.format(name=_PRUNER, label=_PRUNER_LABEL)
    own = rules(pruner_rights()[_PRUNER])
    yield _LABELLED_ROLE.format(name=_PRUNER_OWN, label=_PRUNER_LABEL, rules=own)
    yield _BINDING.format(
        kind="ClusterRole", name=_PRUNER, namespace="", account=_PRUNER, own_namespace=NAMESPACE
    )


def _file(documents: Iterable[str]) -> str:
    return HEADER + "---\n".join(documents)


def _base(rights: dict[Process, tuple[Right, ...]]) -> Iterator[str]:
    for process, granted in rights.items():
        if granted:
            account = f"lading-{process}"
            yield _ACCOUNT.format(name=account, namespace=process.namespace)
            base = (one for one in granted if not one.overlay)
            yield from _roles(account, account, base, process.namespace)


def _overlay(overlay: str, rights: dict[Process, tuple[Right, ...]]) -> Iterator[str]:
    for process, granted in rights.items():
        account = f"lading-{process}"
        own = (one for one in granted if one.overlay == overlay)
        yield from _roles(f"{account}-{overlay}", account, own, process.namespace)


def _roles(
    name: str, account: str, rights: Iterable[Right], own_namespace: str = NAMESPACE
) -> Iterator[str]:
    """A ClusterRole for the whole cluster and a Role for each namespace, with their bindings."""
    scoped = [(where, right) for right in rights for where in right.namespaces or ("",)]
    by_namespace = sorted(scoped, key=lambda one: one[0])
    for where, granted in groupby(by_namespace, key=lambda one: one[0]):
        named = {
            "kind": "Role" if where else "ClusterRole",
            "name": _role_name(name, where),
            "namespace": f"\n  namespace: {where}" if where else "",
        }
        yield _ROLE.format(**named, rules=rules(right for _, right in granted))
        yield _BINDING.format(**named, account=account, own_namespace=own_namespace)


def rules(rights: Iterable[Right]) -> str:
    return "".join(map(_rule, rights))


def _rule(right: Right) -> str:
    comment = f"  # {right.why}\n" if right.why else ""
    group = right.group or '""'
    names = _list("resourceNames", right.names) if right.names else ""
    lists = _list("resources", right.resources) + names + _list("verbs", right.verbs)
    return f"{comment}  - apiGroups: [{group}]\n{lists}"


def _list(name: str, items: tuple[str, ...]) -> str:
    line = f"    {name}: [{', '.join(items)}]\n"
    if len(line) <= _LINE_CHARACTERS_MAX:
        return line
    return f"    {name}:\n" + "".join(f"      - {item}\n" for item in items)
