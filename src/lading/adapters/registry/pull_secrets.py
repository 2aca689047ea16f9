"""Kubernetes pull secrets as credentials: mounted into a folder, or as the API gives them.

Both kinds are read, `kubernetes.io/dockerconfigjson` and the older `kubernetes.io/dockercfg`, and
distinguished by their key. Programs that a secret names are not run: it may only carry credentials.
"""

import base64
import binascii
from collections.abc import Mapping
from pathlib import Path

from lading.adapters.registry import auth_files
from lading.adapters.registry.auth_files import AuthFile
from lading.kernel.values import replace

_PARSER_BY_KEY = {
    ".dockerconfigjson": auth_files.parse,
    ".dockercfg": auth_files.parse_dockercfg,
}


def paths_in(folder: Path) -> tuple[Path, ...]:
    """The files that a pull secret can have where it is mounted."""
    return tuple(folder / key for key in _PARSER_BY_KEY)


def read(path: Path) -> AuthFile:
    """One of `paths_in` a folder."""
    return _only_credentials(auth_files.read_as(_PARSER_BY_KEY[path.name], path))


def parse(data: Mapping[str, str], name: str) -> AuthFile:
    """The `data` of a Secret; the values are base64."""
    for key, parser in _PARSER_BY_KEY.items():
        if key in data:
            try:
                content = base64.b64decode(data[key], validate=True)
            except binascii.Error:
                return AuthFile(problems=(f"{name}: {key} is not base64; ignored",))
            return _only_credentials(parser(content, name))
    keys = " or ".join(_PARSER_BY_KEY)
    return AuthFile(problems=(f"{name}: not a pull secret: it has no {keys}",))


def _only_credentials(file: AuthFile) -> AuthFile:
    return replace(file, helper_by_pattern={}, default_helper="")
