"""The keys of requests to AWS: from a file, or from STS for a role that a token proves."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from lading.adapters.clock import SystemClock
from lading.adapters.ec2 import client, keys
from lading.adapters.ec2.client import Ec2Client
from lading.adapters.ec2.signing import AwsKeys
from lading.kernel import conditions
from lading.ports.ec2 import Ec2Error

SECRET = "wJalrXUtnFEMI"
TOKEN = "eyJhbGciOiJSUzI1NiJ9.canary-web-identity.signature"
ROLE = "arn:aws:iam::123456789012:role/lading-boot-images"
REGION = "us-east-1"
NONE = '<DescribeImagesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"/>'
REFUSED = """<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error>
<Code>InvalidIdentityToken</Code><Message>%s</Message></Error></ErrorResponse>"""


def answer(number: int, *, expires_in: timedelta) -> str:
    expires_at = conditions.timestamp(datetime.now(UTC) + expires_in)
    return f"""<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
      <AssumeRoleWithWebIdentityResult><Credentials>
        <AccessKeyId>ASIA{number}</AccessKeyId>
        <SecretAccessKey>{SECRET}</SecretAccessKey>
        <SessionToken>session-{number}</SessionToken>
        <Expiration>{expires_at}</Expiration>
      </Credentials></AssumeRoleWithWebIdentityResult>
    </AssumeRoleWithWebIdentityResponse>"""


@dataclass
class Cloud:
    """EC2 and STS on one server."""

    expires_in: timedelta = timedelta(hours=1)
    refused: bool = False
    assumed: list[dict[str, str]] = field(default_factory=list)
    described: list[dict[str, str]] = field(default_factory=list)

    async def handle(self, request: web.Request) -> web.Response:
        form = {name: str(value) for name, value in (await request.post()).items()}
        headers = {name.lower(): value for name, value in request.headers.items()}
        if form["Action"] == "DescribeImages":
            self.described.append(headers)
            return web.Response(text=NONE)
        self.assumed.append(form)
        assert "authorization" not in headers
        if self.refused:
            return web.Response(status=400, text=REFUSED % form["WebIdentityToken"])
        return web.Response(text=answer(len(self.assumed), expires_in=self.expires_in))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """As OpenShift writes it for a cluster that uses short-lived credentials."""
    token = tmp_path / "token"
    token.write_text(TOKEN + "\n", encoding="ascii")
    path = tmp_path / "credentials"
    lines = (
        "[default]",
        "sts_regional_endpoints = regional",
        f"role_arn = {ROLE}",
        f"web_identity_token_file = {token}",
    )
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@asynccontextmanager
async def asking(file: Path, cloud: Cloud) -> AsyncIterator[Ec2Client]:
    app = web.Application()
    app.router.add_post("/", cloud.handle)
    async with TestServer(app) as server:
        url = f"http://127.0.0.1:{server.port}"
        async with client.open_client(
            file, SystemClock(), {}, endpoint=lambda _: url, sts_endpoint=lambda _: url
        ) as ec2:
            yield ec2


async def test_a_token_is_exchanged_for_keys_once(file: Path) -> None:
    cloud = Cloud()
    async with asking(file, cloud) as ec2:
        for _ in range(3):
            assert await ec2.image(REGION, "ami-0") is None
    assert cloud.assumed == [
        {
            "Action": "AssumeRoleWithWebIdentity",
            "Version": "2011-06-15",
            "RoleArn": ROLE,
            "RoleSessionName": "lading",
            "WebIdentityToken": TOKEN,
        }
    ]
    assert len(cloud.described) == 3
    for headers in cloud.described:
        assert "Credential=ASIA1/" in headers["authorization"]
        assert headers["x-amz-security-token"] == "session-1"


async def test_keys_that_are_about_to_expire_are_replaced(file: Path) -> None:
    cloud = Cloud(expires_in=keys.EXPIRY_MARGIN)
    async with asking(file, cloud) as ec2:
        for _ in range(2):
            await ec2.image(REGION, "ami-0")
    assert len(cloud.assumed) == 2
    assert "Credential=ASIA2/" in cloud.described[-1]["authorization"]


async def test_keys_of_one_region_are_not_used_in_another(file: Path) -> None:
    """STS of each partition gives its own."""
    cloud = Cloud()
    async with asking(file, cloud) as ec2:
        await ec2.image(REGION, "ami-0")
        await ec2.image("cn-north-1", "ami-0")
    assert len(cloud.assumed) == 2


async def test_a_refusal_names_its_code_and_not_the_token(file: Path) -> None:
    cloud = Cloud(refused=True)
    async with asking(file, cloud) as ec2:
        with pytest.raises(Ec2Error, match="refused: 400 InvalidIdentityToken") as caught:
            await ec2.image(REGION, "ami-0")
    assert TOKEN not in str(caught.value)
    assert cloud.described == []


@pytest.mark.parametrize("token", [b"", b"\n", b"\xff", b"x" * (keys.TOKEN_BYTES_MAX + 1)])
async def test_a_token_that_is_none_is_not_sent(file: Path, token: bytes) -> None:
    (file.parent / "token").write_bytes(token)
    cloud = Cloud()
    async with asking(file, cloud) as ec2:
        with pytest.raises(Ec2Error, match="token"):
            await ec2.image(REGION, "ami-0")
    assert cloud.assumed == []


@pytest.mark.parametrize("text", ["", "<x/>", NONE, answer(1, expires_in=timedelta()) + "<"])
def test_an_answer_without_keys_is_refused(text: str) -> None:
    with pytest.raises(Ec2Error, match="has no keys"):
        keys.role_keys(text)


def test_an_expiry_that_cannot_be_read_is_refused() -> None:
    text = answer(1, expires_in=timedelta()).replace("<Expiration>2", "<Expiration>x")
    with pytest.raises(Ec2Error, match="has no keys"):
        keys.role_keys(text)


def test_keys_are_read_from_the_default_profile(tmp_path: Path) -> None:
    path = tmp_path / "credentials"
    path.write_text("[default]\naws_access_key_id = A\naws_secret_access_key = B\n")
    assert keys.read_profile(path) == AwsKeys(access_key_id="A", secret_access_key="B")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "has no profile"),
        ("nonsense", "has no profile"),
        ("[other]\nx = 1", "has no profile"),
        (f"[default]\naws_secret_access_key = {SECRET}", "has no profile"),
        ("[default]\nweb_identity_token_file = /token", "has no profile"),
        (f"[default]\nweb_identity_token_file = /t\nrole_arn = {SECRET}", "not the ARN of a role"),
    ],
)
def test_a_file_without_keys_is_named_and_not_shown(
    tmp_path: Path, content: str, message: str
) -> None:
    path = tmp_path / "credentials"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(Ec2Error, match=message) as caught:
        keys.read_profile(path)
    assert SECRET not in str(caught.value)


def test_a_file_that_is_gone(tmp_path: Path) -> None:
    with pytest.raises(Ec2Error, match="cannot read"):
        keys.read_profile(tmp_path / "gone")


def test_the_endpoint_of_a_region() -> None:
    assert keys.sts_endpoint_of("eu-west-1") == "https://sts.eu-west-1.amazonaws.com"
    assert keys.sts_endpoint_of("cn-north-1") == "https://sts.cn-north-1.amazonaws.com.cn"
