"""Translates the files, directories, links and file systems of a stub. Pure.

Specification 2 has a file system and a path in it; specification 3 has only paths. The mount path
is known for the root, and for a file system with a path as its name.
"""

from collections.abc import Mapping
from typing import Any

from lading.boot_images.ignition import disks, resources
from lading.boot_images.ignition.disks import clean
from lading.boot_images.ignition.findings import Loss, RejectionReason
from lading.boot_images.ignition.reading import Reader, without_nothing

ROOT = "root"
SYSROOT = "/sysroot"  # where specification 2 mounts the root while it runs
_MODES = range(0o10000)


def translate(section: Reader, *, unit_paths: frozenset[str]) -> dict[str, Any]:
    file_systems = [_FileSystem(one) for one in section.objects("filesystems")]
    nodes = _Nodes(section, {one.name: one for one in file_systems}, unit_paths)
    for reader in section.objects("files"):
        nodes.add("files", reader)
    for reader in section.objects("directories", since=1):
        nodes.add("directories", reader)
    for reader in section.objects("links", since=1):
        nodes.add("links", reader)
    nodes.check()
    found = without_nothing(
        disks=disks.disks(section),
        raid=disks.arrays(section),
        filesystems=disks.without_twins(
            section, "filesystems", [one.translated() for one in file_systems], key="device"
        ),
        **{kind: nodes.of(kind) for kind in ("directories", "files", "links")},
    )
    section.finish()
    return found


class _FileSystem:
    """One entry of `filesystems`. It is mounted only if it has a file."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.name = reader.text("name") or ""
        self.is_used = False
        self._path = reader.text("path")
        mount = reader.object("mount")
        self._mount = disks.mount(mount) if reader.has("mount") else None
        if (self._path is None) == (self._mount is None):
            reader.reject(RejectionReason.FILESYSTEM)
        reader.finish()

    def prefix(self) -> str | None:
        """The path of its files in the booted system; None if it is not known."""
        if self._path is not None:
            below = self._path.removeprefix(SYSROOT)
            is_below = self._path == SYSROOT or self._path.startswith(f"{SYSROOT}/")
            return below or "/" if is_below else None
        if self.name == ROOT:
            return "/"
        return self.name if self.name.startswith("/") else None

    def translated(self) -> dict[str, Any] | None:
        if self._mount is None:
            return None
        path = clean(self.prefix() or "") if self.is_used or self.name == ROOT else None
        return {**self._mount, **without_nothing(path=path)}


class _Nodes:
    """Files, directories and links by kind and by their path in the booted system."""

    def __init__(
        self, section: Reader, file_systems: Mapping[str, _FileSystem], unit_paths: frozenset[str]
    ) -> None:
        self._section = section
        self._file_systems = file_systems
        self._unit_paths = unit_paths
        self._kind_of: dict[str, str] = {}
        self._found: dict[str, dict[str, dict[str, Any]]] = {
            "files": {}, "directories": {}, "links": {},
        }  # fmt: skip
        self._readers: dict[str, Reader] = {}

    def of(self, kind: str) -> list[dict[str, Any]]:
        return list(self._found[kind].values())

    def add(self, kind: str, reader: Reader) -> None:
        path = self._path(reader)
        node = {"path": path, **_owner(reader, "user"), **_owner(reader, "group")}
        match kind:
            case "files":
                node |= _file(reader)
            case "directories":
                node |= without_nothing(overwrite=reader.truth("overwrite", since=2))
                node |= {"mode": _mode(reader, default=0)}
            case _:
                node |= without_nothing(
                    overwrite=reader.truth("overwrite", since=2),
                    target=reader.required("target"),
                    hard=reader.true("hard"),
                )
        reader.finish()
        if path in self._unit_paths:
            reader.reject(RejectionReason.PATH_OF_UNIT, "path")
        self._put(kind, node, reader)

    def _put(self, kind: str, node: dict[str, Any], reader: Reader) -> None:
        path = node["path"]
        before = self._found[kind].get(path)
        if self._kind_of.setdefault(path, kind) != kind:
            reader.reject(RejectionReason.PATH_TWICE, "path")
        elif before is None or before == node:
            self._found[kind][path] = node
        elif kind == "files" and "append" in node:
            self._append(before, node, reader)
        elif kind == "files":
            reader.lose(Loss.REPLACED)
            self._found[kind][path] = node
        else:
            reader.reject(RejectionReason.PATH_TWICE, "path")
        self._readers[path] = reader

    def _append(self, before: dict[str, Any], node: dict[str, Any], reader: Reader) -> None:
        """Appends to a file of the same stub, after its content."""
        changes = {key for key in ("user", "group", "mode") if key in node}
        if any(before.get(key) != node[key] for key in changes):
            reader.reject(RejectionReason.PATH_TWICE, "path")
        before["append"] = [*before.get("append", ()), *node["append"]]

    def _path(self, reader: Reader) -> str:
        path, name = reader.text("path") or "", reader.text("filesystem")
        if not path.startswith("/"):
            reader.reject(RejectionReason.PATH, "path")
        if name is None:
            reader.reject(RejectionReason.VALUE_REQUIRED, "filesystem")
            return clean(path)
        declared = self._file_systems.get(name)
        if declared is not None:
            declared.is_used = True
        prefix = declared.prefix() if declared is not None else "/" if name == ROOT else None
        if prefix is None:
            reason = (
                RejectionReason.FILESYSTEM_PATH
                if declared
                else RejectionReason.FILESYSTEM_UNDECLARED
            )
            reader.reject(reason, "filesystem")
        return clean(f"{prefix or ''}/{path}")

    def check(self) -> None:
        """Rejects paths through links, and hard links to directories."""
        links, directories = self._found["links"], self._found["directories"]
        lengths = {len(path) for path in links}
        for path, reader in self._readers.items():
            if any(
                path[length : length + 1] == "/" and path[:length] in links for length in lengths
            ):
                reader.reject(RejectionReason.PATH_UNDER_LINK, "path")
        for path, link in links.items():
            target = link["target"]
            absolute = clean(target if target.startswith("/") else f"{path}/{target}")
            if link.get("hard") and absolute in directories:
                self._readers[path].reject(RejectionReason.LINK_TO_DIRECTORY, "target")


def _file(reader: Reader) -> dict[str, Any]:
    appends, overwrite = reader.true("append", since=2), reader.truth("overwrite", since=2)
    contents = resources.resource(reader.object("contents"), has_compression=True)
    if appends and overwrite:
        reader.reject(RejectionReason.OVERWRITE, "overwrite")
    mode = _mode(reader, default=None if appends else 0)
    if appends:
        return {"overwrite": False, **without_nothing(mode=mode), "append": [contents]}
    return {"overwrite": overwrite is not False, "mode": mode, "contents": contents}


def _mode(reader: Reader, *, default: int | None) -> int | None:
    mode = reader.number("mode")
    if mode is None:
        if default is not None:
            reader.lose(Loss.MODE_UNSET, "mode")
        return default
    if mode not in _MODES:
        reader.reject(RejectionReason.MODE, "mode")
    return mode


def _owner(reader: Reader, key: str) -> dict[str, Any]:
    owner = reader.object(key)
    number, name = owner.number("id"), owner.text("name", since=1)
    owner.finish()
    if number is not None and name is not None:
        owner.reject(RejectionReason.OWNER)
    found = without_nothing(id=number, name=name)
    return {key: found} if found else {}
