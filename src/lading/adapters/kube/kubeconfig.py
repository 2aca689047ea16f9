"""Reads kubeconfig files as kubectl does and turns one context into a `Connection`.

Several files are merged: the first one that names a cluster, a user, a context or the current
context wins. A relative path is resolved from the file it stands in. Nothing is written.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from lading import files
from lading.adapters.kube import kubeconfig_entries
from lading.adapters.kube.connection import ConfigurationError, Connection
from lading.adapters.kube.kubeconfig_entries import KubeconfigEntry
from lading.kernel import yaml_text

DEFAULT_PATH = "~/.kube/config"
_SECTIONS = {"clusters": "cluster", "users": "user", "contexts": "context"}
Sections = dict[str, dict[str, KubeconfigEntry]]


class Kubeconfig:
    """The merged files: named clusters, users and contexts, each with the file it came from."""

    def __init__(self, sections: Sections, current_context: str, sources: str) -> None:
        self._sections = sections
        self._current_context = current_context
        self._sources = sources

    def connection(self, *, context: str = "", cluster: str = "", user: str = "") -> Connection:
        """The connection of a context, by default the current one; names given here win."""
        chosen = self._context(context)
        cluster_entry = self._entry("clusters", cluster or chosen.required_text("cluster"))
        user_name = user or chosen.text("user")
        user_entry = self._entry("users", user_name) if user_name else None
        return kubeconfig_entries.connection(
            cluster_entry, user_entry, namespace=chosen.text("namespace") or "default"
        )

    def context_names(self) -> tuple[str, ...]:
        return tuple(sorted(self._sections["contexts"]))

    def _context(self, name: str) -> KubeconfigEntry:
        name = name or self._current_context
        if not name:
            known = ", ".join(self.context_names())
            if not known:
                raise ConfigurationError(f"{self._sources}: there is no context in it")
            raise ConfigurationError(
                f"{self._sources}: current-context is not set; set --context: {known}"
            )
        return self._entry("contexts", name)

    def _entry(self, section: str, name: str) -> KubeconfigEntry:
        entry = self._sections[section].get(name)
        if entry is None:
            known = ", ".join(sorted(self._sections[section])) or "none"
            raise ConfigurationError(
                f"{self._sources}: {section} has no entry {name!r}; it has {known}"
            )
        return entry


def paths(environment: Mapping[str, str]) -> tuple[Path, ...]:
    """The files that are read when none is named: KUBECONFIG, else the one in the home."""
    listed = environment.get("KUBECONFIG", "")
    named = dict.fromkeys(name for name in listed.split(os.pathsep) if name)
    return tuple(Path(name) for name in named) or (Path(os.path.expanduser(DEFAULT_PATH)),)


def load(files: Sequence[Path]) -> Kubeconfig:
    """Merges the files; one that does not exist is passed over, as long as one does."""
    sections: Sections = {section: {} for section in _SECTIONS}
    current_context = ""
    present = [file for file in files if file.exists()]
    if not present:
        tried = ", ".join(map(str, files))
        raise ConfigurationError(f"{tried}: there is no such kubeconfig file")
    for file in present:
        document = _read(file)
        current_context = current_context or str(document.get("current-context") or "")
        for section, field in _SECTIONS.items():
            for name, entry in _entries(file, document, section, field):
                sections[section].setdefault(name, entry)
    return Kubeconfig(sections, current_context, ", ".join(map(str, present)))


def _read(file: Path) -> dict[str, Any]:
    try:
        content = files.read_bounded(file)
    except OSError as error:
        raise ConfigurationError(f"{file}: cannot be read: {error.strerror}") from error
    try:
        document = yaml_text.value(content)
    except yaml.YAMLError as error:
        raise ConfigurationError(f"{file}: is not YAML: {_without_content(error)}") from error
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise ConfigurationError(f"{file}: expected a mapping with clusters, users and contexts")
    return document


def _without_content(error: Exception) -> str:
    """The place and the problem; the text around it may hold a secret."""
    mark = getattr(error, "problem_mark", None)
    place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
    return f"{place}{getattr(error, 'problem', '') or type(error).__name__}"


def _entries(
    file: Path, document: Mapping[str, Any], section: str, field: str
) -> list[tuple[str, KubeconfigEntry]]:
    listed = document.get(section) or []
    if not isinstance(listed, list):
        raise ConfigurationError(f"{file}: {section} must be a list")
    entries = []
    for index, item in enumerate(listed):
        if not isinstance(item, dict) or not isinstance(item.get("name"), str):
            raise ConfigurationError(f"{file}: {section}[{index}] must have a name")
        name = item["name"]
        content = item.get(field) or {}
        if not isinstance(content, dict):
            raise ConfigurationError(f"{file}: {section}[{name}].{field} must be a mapping")
        entries.append(
            (name, KubeconfigEntry(file=file, where=f"{section}[{name}].{field}", fields=content))
        )
    return entries
