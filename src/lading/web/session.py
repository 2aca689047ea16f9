"""Who may look: the token in the printed URL is exchanged for a cookie.

The token is in the terminal and, for one request, in the address bar. The cookie is a second
secret that no script can read and no other site can send.
"""

import hmac
import secrets
from dataclasses import dataclass, field

_SECRET_BYTES = 32


def _new_secret() -> str:
    return secrets.token_urlsafe(_SECRET_BYTES)


@dataclass(frozen=True, slots=True)
class Session:
    token: str = field(default_factory=_new_secret, repr=False)
    cookie: str = field(default_factory=_new_secret, repr=False)

    def accepts_token(self, given: str) -> bool:
        return _equal(given, self.token)

    def accepts_cookie(self, given: str) -> bool:
        return _equal(given, self.cookie)


def _equal(given: str, wanted: str) -> bool:
    """In a time that tells nothing about how much of it is right."""
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), wanted.encode())
