"""How to authenticate to a registry: for the registry client, and for runtimes that pull."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """How to authenticate to one registry; secrets never appear in its text."""

    username: str = ""
    password: str = field(default="", repr=False)
    identity_token: str = field(default="", repr=False)
    """An OAuth2 refresh token that is exchanged for access tokens."""
    registry_token: str = field(default="", repr=False)
    """A bearer token that is sent as it is."""
    server_address: str = ""
    """The one server that may see it, as `https://registry.example.com`; empty for no limit."""
