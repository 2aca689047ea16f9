"""How to authenticate to a registry: for the registry client, and for runtimes that pull."""

from lading.kernel.values import Redacted


class Credential(Redacted, frozen=True, kw_only=True):
    """How to authenticate to one registry; secrets never appear in its text."""

    shown = ("username", "server_address")

    username: str = ""
    password: str = ""
    identity_token: str = ""
    """An OAuth2 refresh token that is exchanged for access tokens."""
    registry_token: str = ""
    """A bearer token that is sent as it is."""
    server_address: str = ""
    """The one server that may see it, as `https://registry.example.com`; empty for no limit."""
    only_to: tuple[str, ...] | None = None
    """Set for the token of a cluster: the hosts of its own registry, which alone may get it.

    They get it over verified TLS, and a token realm only at the same address. None for a login,
    which is made for a registry and for the token realm that the registry names.
    """
