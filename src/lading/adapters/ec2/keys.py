"""The keys that requests are signed with, from a file in the form of AWS's own tools.

The file is read for each question, so keys that rotate are used at once. It holds the keys, or it
names a role and the file of a token (web identity): then STS gives keys for the role, which are
used until shortly before they expire. No key and no token reaches an error.
"""

import configparser
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from urllib.parse import urlencode

import msgspec

from lading import files
from lading.adapters.ec2 import exchange
from lading.adapters.ec2.exchange import AwsExchange
from lading.adapters.ec2.signing import AwsKeys
from lading.kernel import conditions
from lading.ports.clock import Clock
from lading.ports.ec2 import Ec2Error

API_VERSION = "2011-06-15"
NAMESPACE = "{https://sts.amazonaws.com/doc/2011-06-15/}"
SESSION_NAME = "lading"
EXPIRY_MARGIN = timedelta(minutes=5)  # a key must not expire on its way
TOKEN_BYTES_MAX = 20_000  # STS takes no longer one
_ROLE = re.compile(r"arn:aws[a-z-]*:iam::[0-9]{12}:role/[\w+=,.@/-]{1,512}")


class WebIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """A role, and where the token is that proves who takes it."""

    role: str
    token_file: Path


class _RoleKeys(msgspec.Struct, frozen=True, kw_only=True):
    keys: AwsKeys
    expires_at: datetime


def sts_endpoint_of(region: str) -> str:
    return f"https://sts.{region}.{exchange.domain_of(region)}"


class KeySource(msgspec.Struct, kw_only=True):
    file: Path
    aws: AwsExchange
    clock: Clock
    sts_endpoint: Callable[[str], str] = sts_endpoint_of
    _of_roles: dict[tuple[WebIdentity, str], _RoleKeys] = {}

    async def keys(self, region: str) -> AwsKeys:
        """Raises Ec2Error."""
        found = read_profile(self.file)
        if isinstance(found, AwsKeys):
            return found
        known = self._of_roles.get((found, region))
        if known is None or known.expires_at - EXPIRY_MARGIN <= self.clock.now():
            known = await self._assumed(found, region)
            self._of_roles = {(found, region): known}
        return known.keys

    async def _assumed(self, identity: WebIdentity, region: str) -> _RoleKeys:
        """The token is the proof, so this one request is not signed."""
        asked = {
            "Action": "AssumeRoleWithWebIdentity",
            "Version": API_VERSION,
            "RoleArn": identity.role,
            "RoleSessionName": SESSION_NAME,
            "WebIdentityToken": _token(identity.token_file),
        }
        headers = {"content-type": exchange.FORM}
        url = self.sts_endpoint(region)
        return role_keys(await self.aws.post(url, urlencode(asked).encode(), headers))


def read_profile(path: Path) -> AwsKeys | WebIdentity:
    """Raises Ec2Error."""
    try:
        return profile_in(files.read_bounded(path), name=str(path))
    except OSError as error:
        raise Ec2Error(f"cannot read {path}: {type(error).__name__}") from None


def profile_in(content: bytes, *, name: str) -> AwsKeys | WebIdentity:
    """Of the profile `default`; the text of the file reaches no error. Raises Ec2Error."""
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read_string(content.decode())
        profile = parser["default"]
        if "web_identity_token_file" in profile:
            return _web_identity(profile, name)
        return AwsKeys(
            access_key_id=profile["aws_access_key_id"],
            secret_access_key=profile["aws_secret_access_key"],
            session_token=profile.get("aws_session_token", ""),
        )
    except (configparser.Error, KeyError, UnicodeDecodeError):
        raise Ec2Error(
            f"{name} has no profile [default] with aws_access_key_id and aws_secret_access_key,"
            " or with role_arn and web_identity_token_file"
        ) from None


def _web_identity(profile: configparser.SectionProxy, name: str) -> WebIdentity:
    role = profile["role_arn"]
    if not _ROLE.fullmatch(role):
        raise Ec2Error(f"{name}: role_arn is not the ARN of a role")
    return WebIdentity(role=role, token_file=Path(profile["web_identity_token_file"]))


def _token(path: Path) -> str:
    try:
        with path.open("rb") as file:
            found = file.read(TOKEN_BYTES_MAX + 1)
        text = found.decode("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise Ec2Error(f"cannot read the token in {path}: {type(error).__name__}") from None
    if not text or len(found) > TOKEN_BYTES_MAX:
        raise Ec2Error(f"{path} holds no token of at most {TOKEN_BYTES_MAX} bytes")
    return text


def role_keys(text: str) -> _RoleKeys:
    """What STS answered with; raises Ec2Error."""
    root = exchange.parsed(text)
    found = {
        name: root.findtext(f".//{NAMESPACE}Credentials/{NAMESPACE}{name}", default="")
        for name in ("AccessKeyId", "SecretAccessKey", "SessionToken", "Expiration")
        if root is not None
    }
    expires_at = conditions.instant(found.get("Expiration", ""))
    if not all(found.values()) or expires_at is None:
        raise Ec2Error("the answer of STS has no keys")
    keys = AwsKeys(
        access_key_id=found["AccessKeyId"],
        secret_access_key=found["SecretAccessKey"],
        session_token=found["SessionToken"],
    )
    return _RoleKeys(keys=keys, expires_at=expires_at)
