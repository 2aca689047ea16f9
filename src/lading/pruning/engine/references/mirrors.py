"""Other names of the registry, from mirror objects and node configuration. Pure.

A mirror entry `source -> mirror` means that `mirror` may serve pulls of `source`. If the mirror is
in this registry, a reference to the source also protects the image in the mirror.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from lading.pruning.engine.references.names import RegistryNames, normal_host

KINDS: Mapping[str, str] = {
    "ImageContentSourcePolicy": "repositoryDigestMirrors",
    "ImageDigestMirrorSet": "imageDigestMirrors",
    "ImageTagMirrorSet": "imageTagMirrors",
}


def registry_names(hosts: Iterable[str], mirrors: Iterable[tuple[str, str]] = ()) -> RegistryNames:
    """The names of one registry; `mirrors` are (source, mirror) pairs of any registry."""
    known = frozenset(map(normal_host, hosts))
    prefixes: dict[str, dict[str, None]] = {}
    for source, mirror in mirrors:
        host, _, path = mirror.strip("/").partition("/")
        if normal_host(host) in known:
            prefixes.setdefault(_normal(source), {})[path] = None
    return RegistryNames(
        hosts=known, prefixes={source: tuple(paths) for source, paths in prefixes.items()}
    )


def pairs_of(document: Mapping[str, Any], kind: str) -> Iterator[tuple[str, str]]:
    """The mirrors of one ImageContentSourcePolicy, ImageDigestMirrorSet or ImageTagMirrorSet."""
    spec = document.get("spec")
    entries = spec.get(KINDS[kind]) if isinstance(spec, Mapping) else None
    for entry in entries if isinstance(entries, list) else ():
        if not isinstance(entry, Mapping) or not isinstance(entry.get("source"), str):
            continue
        found = entry.get("mirrors")
        for mirror in found if isinstance(found, list) else ():
            if isinstance(mirror, str):
                yield entry["source"], mirror


def pairs_of_registries_conf(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The mirrors of a registries.conf, version 2."""
    for entry in _tables(document, "registry"):
        source = entry.get("prefix") or entry.get("location")
        locations = [mirror.get("location") for mirror in _tables(entry, "mirror")]
        for location in (*locations, entry.get("location")):
            if isinstance(source, str) and isinstance(location, str) and location != source:
                yield source.removeprefix("*."), location


def pairs_of_hosts_toml(host: str, document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The mirrors of one `certs.d/HOST/hosts.toml`; `_default` stands for every host."""
    servers = document.get("host")
    for url in servers if isinstance(servers, Mapping) else ():
        yield host, url.partition("://")[2].removesuffix("/v2").rstrip("/")


def _tables(document: Mapping[str, Any], name: str) -> Iterator[Mapping[str, Any]]:
    found = document.get(name)
    for entry in found if isinstance(found, list) else ():
        if isinstance(entry, Mapping):
            yield entry


def _normal(source: str) -> str:
    host, slash, path = source.strip("/").partition("/")
    return f"{normal_host(host)}{slash}{path}"
