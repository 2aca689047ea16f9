"""The key of an installation, and the Secret that has it. Pure.

From the key comes the name of the folder of the program that waits, where containers of the images
hold them. No image author can know it.
"""

import base64
import binascii

from lading.api.core import Secret
from lading.kernel.values import Redacted

FIELD = "key"
SIZE_BYTES = 32


class BadHoldKey(Exception):
    """The Secret has no key, and Lading did not write it."""


class HoldKey(Redacted, frozen=True):
    value: bytes


def of_secret(secret: Secret) -> HoldKey:
    try:
        value = base64.b64decode(secret.data.get(FIELD, ""), validate=True)
    except binascii.Error:
        value = b""
    if len(value) < SIZE_BYTES:
        raise BadHoldKey(
            f"data.{FIELD}: expected {SIZE_BYTES} bytes. Delete the Secret; the controller"
            " creates it again."
        )
    return HoldKey(value)
