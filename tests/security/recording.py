"""Servers that keep all that they receive, and whether a secret is in it.

What a client means to send counts for nothing: a test asks the server that must not get it.
"""

import asyncio
from collections.abc import Iterable
from urllib.parse import quote, quote_plus

from tests.adapters.registry.hostile import Answering, Hostile, Received, whole
from tests.security import planted

ISSUED = "canary-issued-token-4711"
"""The token that a realm gives."""
TOKEN_PATH = "/token"


def got(secret: str, servers: Iterable[Hostile]) -> list[str]:
    """The requests that have the secret in the URL, in a header or in the body, in any form."""
    forms = {*planted.every_form(secret), quote(secret, safe=""), quote_plus(secret)}
    texts = [text for server in servers for text in map(_text, server.received)]
    return [text for text in texts if any(form in text for form in forms)]


def _text(one: Received) -> str:
    headers = "\n".join(f"{name}: {value}" for name, value in one.headers.items())
    return f"{one.method} {one.path}\n{headers}\n\n{one.body.decode('latin-1')}"


def challenging(challenge: str) -> Answering:
    """A registry that accepts nothing, and gives a token to everyone."""
    refusal = whole(b"", f"WWW-Authenticate: {challenge}", status="401 Unauthorized")
    token = whole(b'{"token": "%s"}' % ISSUED.encode(), "Content-Type: application/json")

    async def answering(request: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(token if request.path.startswith(TOKEN_PATH) else refusal)

    return answering
