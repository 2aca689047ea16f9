"""Who may look: the token in the printed URL is exchanged, once, for a cookie.

The token is in the terminal and may stay in a history or a log, so it is worth nothing after its
first use. The cookie is a second secret that no script can read and no other site can send.
"""

import hmac
import secrets

import msgspec

from lading.kernel.values import Redacted

_SECRET_BYTES = 32


def _new_secret() -> str:
    return secrets.token_urlsafe(_SECRET_BYTES)


class Session(Redacted, frozen=True):
    token: str = msgspec.field(default_factory=_new_secret)
    cookie: str = msgspec.field(default_factory=_new_secret)

    def accepts_token(self, given: str) -> bool:
        return _equal(given, self.token)

    def accepts_cookie(self, given: str) -> bool:
        return _equal(given, self.cookie)


def _equal(given: str, wanted: str) -> bool:
    """In a time that tells nothing about how much of it is right."""
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), wanted.encode())
