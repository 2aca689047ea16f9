"""What an image is built for, and its normal form; two spellings of one platform become equal."""

import re

import msgspec

from lading.kernel.errors import Malformed

_TEXT = re.compile(
    r"(?P<os>[a-z0-9]+)(?:\((?P<version>[0-9.]+)\))?"
    r"/(?P<architecture>[a-z0-9_-]+)(?:/(?P<variant>[a-z0-9.]+))?"
)
_OS_BY_ALIAS = {"macos": "darwin"}
_ARCHITECTURE_BY_ALIAS = {
    "x86_64": ("amd64", None),
    "x86-64": ("amd64", None),
    "aarch64": ("arm64", None),
    "i386": ("386", ""),
    "i486": ("386", ""),
    "i586": ("386", ""),
    "i686": ("386", ""),
    "armhf": ("arm", "v7"),
    "armel": ("arm", "v6"),
    "armv5tel": ("arm", "v5"),
    "armv6l": ("arm", "v6"),
    "armv7l": ("arm", "v7"),
    "armv8l": ("arm", "v8"),
}
_VARIANT_BY_ALIAS = {
    "amd64": {"v1": ""},
    "arm64": {"8": "", "v8": "", "v8.0": "", "9": "v9", "9.0": "v9", "v9.0": "v9"},
    "arm": {"": "v7", "5": "v5", "6": "v6", "7": "v7", "8": "v8"},
}


class Platform(msgspec.Struct, frozen=True, kw_only=True):
    os: str
    architecture: str
    variant: str = ""
    os_version: str = ""
    os_features: tuple[str, ...] = ()

    def __str__(self) -> str:
        """As people write it: `linux/arm64/v8`, `windows(10.0.20348)/amd64`."""
        version = f"({self.os_version})" if self.os_version else ""
        variant = f"/{self.variant}" if self.variant else ""
        features = f"+{'+'.join(self.os_features)}" if self.os_features else ""
        return f"{self.os}{version}{features}/{self.architecture}{variant}"


UNKNOWN = Platform(os="unknown", architecture="unknown")
"""What the entries of an index that hold attestations, not images, carry."""


def normalised(platform: Platform) -> Platform:
    os = platform.os.lower()
    architecture = platform.architecture.lower()
    variant = platform.variant.lower()
    architecture, implied = _ARCHITECTURE_BY_ALIAS.get(architecture, (architecture, None))
    variant = variant if implied is None else implied
    return Platform(
        os=_OS_BY_ALIAS.get(os, os),
        architecture=architecture,
        variant=_VARIANT_BY_ALIAS.get(architecture, {}).get(variant, variant),
        os_version=platform.os_version,
        os_features=tuple(sorted(set(platform.os_features))),
    )


def parse(text: str) -> Platform:
    """Reads `os[(version)]/architecture[/variant]`, the form in which people write a platform."""
    match = _TEXT.fullmatch(text.lower())
    if match is None:
        reason = "expected 'os/architecture[/variant]', for instance linux/arm64/v8"
        raise Malformed(what="platform", text=text, reason=reason)
    return normalised(
        Platform(
            os=match["os"],
            architecture=match["architecture"],
            variant=match["variant"] or "",
            os_version=match["version"] or "",
        )
    )
