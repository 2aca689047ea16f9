"""Which Windows image builds run on which Windows builds, compared as numbers.

Process isolation shares the host's kernel; since Windows Server 2022 its interface is stable from
one long-term release up to the next. Under Hyper-V the guest's build takes the host's place, and
the guest itself must not be newer than the host.
"""

import msgspec

STABLE_INTERFACE_BUILDS = (20348, 26100)
"""Long-term releases that begin a stable interface: Windows Server 2022 and 2025."""

_PART_DIGITS_MAX = 9


class Version(msgspec.Struct, frozen=True, order=True):
    major: int
    minor: int
    build: int
    revision: int = 0

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.build}"


def parse(text: str) -> Version | None:
    """`10.0.20348` or `10.0.20348.1970`; None for anything else, which then restricts nothing."""
    parts = text.split(".")
    if len(parts) < 3 or not all(_is_number(part) for part in parts[:3]):
        return None
    revision = int(parts[3]) if len(parts) > 3 and _is_number(parts[3]) else 0
    return Version(int(parts[0]), int(parts[1]), int(parts[2]), revision)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= _PART_DIGITS_MAX


def refusal(*, kernel: str, image: str) -> str | None:
    """Why an image cannot run on that kernel (a host's, or a Hyper-V guest's); None if it can."""
    kernel_version, image_version = parse(kernel), parse(image)
    if kernel_version is None or image_version is None:
        return None
    oldest, newest = _builds_that_run_on(kernel_version.build)
    same_line = (kernel_version.major, kernel_version.minor) == (
        image_version.major,
        image_version.minor,
    )
    if same_line and oldest <= image_version.build <= newest:
        return None
    expected = f"build {newest}" if oldest == newest else f"builds {oldest} to {newest}"
    return f"os.version {image} does not run on {kernel_version}, which accepts {expected}"


def _builds_that_run_on(build: int) -> tuple[int, int]:
    first_stable = STABLE_INTERFACE_BUILDS[0]
    if build < first_stable:
        return build, build
    return max((s for s in STABLE_INTERFACE_BUILDS if s < build), default=first_stable), build


def guest_refusal(*, host: str, guest: str) -> str | None:
    """Why a Hyper-V guest of that version cannot be started on the host; None if it can."""
    host_version, guest_version = parse(host), parse(guest)
    if host_version is None or guest_version is None:
        return None
    if guest_version.build <= host_version.build:
        return None
    return f"the guest's os.version {guest} is newer than the host's {host}"


def preference(*, kernel: str, image: str) -> tuple[bool, tuple[int, int, int, int]]:
    """Sorts ascending: the kernel's own build first, then the newest."""
    kernel_version, image_version = parse(kernel), parse(image)
    if image_version is None:
        return True, (0, 0, 0, 0)
    other_build = kernel_version is None or image_version.build != kernel_version.build
    version = image_version
    return other_build, (-version.major, -version.minor, -version.build, -version.revision)
