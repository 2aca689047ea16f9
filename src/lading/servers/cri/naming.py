"""What a caller's text means: the start of an image ID, or a name with its registry.

A name without a registry is refused: this service never guesses a host to contact.
"""

from lading.kernel import digests, references
from lading.kernel.errors import Malformed
from lading.kernel.references import Reference
from lading.ports import cri

ID_CHARACTERS_MIN = 4
_USUAL_ALGORITHM = "sha256"
_HEXADECIMAL = frozenset("0123456789abcdef")


def image_id_prefix(text: str) -> str | None:
    """The algorithm and the start of an ID, or None; no name with a registry looks like one."""
    algorithm, colon, encoded = text.rpartition(":")
    algorithm = algorithm if colon else _USUAL_ALGORITHM
    characters_max = digests.HEX_LENGTH_BY_ALGORITHM.get(algorithm, 0)
    if ID_CHARACTERS_MIN <= len(encoded) <= characters_max and set(encoded) <= _HEXADECIMAL:
        return f"{algorithm}:{encoded}"
    return None


def reference(text: str) -> Reference:
    """With a digest and no tag, or with a tag: the one form in which names are stored."""
    try:
        parsed = references.parse(text)
    except Malformed as error:
        raise cri.InvalidReference(str(error), image=text) from error
    if parsed.registry is None:
        message = f"{text!r} names no registry; write it as registry/repository:tag"
        raise cri.InvalidReference(message, image=text)
    return parsed.at(parsed.digest) if parsed.digest else parsed.with_default_tag()
