"""Content digests (`sha256:...`, `sha512:...`) as the OCI image specification writes them."""

import hashlib
import re
from typing import Annotated, Self

import msgspec

from lading.kernel.errors import Malformed

HEX_LENGTH_BY_ALGORITHM = {"sha256": 64, "sha512": 128}
DigestText = Annotated[
    str,
    msgspec.Meta(
        pattern=r"\A(?#a digest, as sha256:HEX)(?:sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})\Z"
    ),
]
"""What decoding accepts as a digest: the same as `parse`."""
_LOWER_HEX = re.compile(r"[0-9a-f]+")


class Digest(msgspec.Struct, frozen=True, order=True):
    """An algorithm that we can verify, and the hash in lower-case hexadecimal."""

    algorithm: str
    encoded: str

    def __str__(self) -> str:
        return f"{self.algorithm}:{self.encoded}"

    def matches(self, content: bytes) -> bool:
        return hashlib.new(self.algorithm, content).hexdigest() == self.encoded

    @classmethod
    def of(cls, content: bytes, algorithm: str = "sha256") -> Self:
        return cls(algorithm, hashlib.new(algorithm, content).hexdigest())


def is_digest(text: str) -> bool:
    try:
        parse(text)
    except Malformed:
        return False
    return True


def parse(text: str) -> Digest:
    algorithm, colon, encoded = text.partition(":")
    if not colon:
        raise Malformed(what="digest", text=text, reason="expected '<algorithm>:<hex>'")
    length = HEX_LENGTH_BY_ALGORITHM.get(algorithm)
    if length is None:
        known = " or ".join(HEX_LENGTH_BY_ALGORITHM)
        raise Malformed(what="digest", text=text, reason=f"the algorithm must be {known}")
    if len(encoded) != length or not _LOWER_HEX.fullmatch(encoded):
        reason = f"{algorithm} needs {length} lower-case hexadecimal characters"
        raise Malformed(what="digest", text=text, reason=reason)
    return Digest(algorithm, encoded)
