"""Which images a pattern of a credential file or plugin means: `[*.]host[:port][/path]`.

The kubelet's rules: as many labels in the host, a `*` within a label, the same port, and the path
as a prefix. Stricter than the kubelet in one thing: a path ends at a `/`, so that a credential for
`host/team` is never shown for `host/team-of-others`.
"""

import re

from lading.kernel.references import DOCKER_HUB, DOCKER_HUB_NAMES

_API_VERSIONS = frozenset({"v1", "v2"})


def normalised(key: str) -> str:
    """The pattern in a key of a credential file, where old ones are whole URLs."""
    bare = key.strip().removeprefix("https://").removeprefix("http://").rstrip("/")
    host, _, path = bare.partition("/")
    host = DOCKER_HUB if host.lower() in DOCKER_HUB_NAMES else host.lower()
    path = "" if path in _API_VERSIONS else path
    return f"{host}/{path}" if path else host


def matches(pattern: str, image: str) -> bool:
    wanted_host, _, wanted_path = pattern.partition("/")
    host, _, path = image.partition("/")
    if not _host_matches(wanted_host, host):
        return False
    return not wanted_path or path == wanted_path or path.startswith(f"{wanted_path}/")


def specificity(pattern: str) -> tuple[int, int]:
    """Longer paths first, then longer hosts; a wildcard is less than what it stands for."""
    host, _, path = pattern.partition("/")
    return len(path), len(host) - 64 * host.count("*")


def _host_matches(wanted: str, host: str) -> bool:
    wanted_name, wanted_port = _split_port(wanted)
    name, port = _split_port(host)
    wanted_labels, labels = wanted_name.split("."), name.lower().split(".")
    if wanted_port != port or len(wanted_labels) != len(labels):
        return False
    pairs = zip(labels, wanted_labels, strict=True)
    return all(_label_matches(glob, label) for label, glob in pairs)


def _label_matches(glob: str, label: str) -> bool:
    # Only the star is special: the brackets of an IPv6 address must stay what they are.
    return re.fullmatch(re.escape(glob).replace(r"\*", ".*"), label) is not None


def _split_port(host: str) -> tuple[str, str]:
    name, colon, port = host.rpartition(":")
    return (name, port) if colon and not port.endswith("]") else (host, "")
