"""The client of EC2, on moto's server and on servers that refuse, page or do not answer."""

import json
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from lading.adapters.ec2 import Ec2Client
from lading.ports.ec2 import Ami, Ec2Error
from lading.wiring import clouds

REGION = "us-east-1"
SECRET = "wJalrXUtnFEMI"
TOKEN = "eyJhbGciOiJSUzI1NiJ9.canary-web-identity.signature"
ROLE = "arn:aws:iam::123456789012:role/lading-boot-images"
MARKETPLACE = "679593333241"
PRODUCT = "01234567-89ab-cdef-0123-456789abcdef"
RED_HATS = Ami(
    id="ami-0123456789abcdef0",
    owner="531415883065",
    name="rhcos",
    description="RHEL CoreOS 9.8.20260428-0",
    architecture="x86_64",
    created_at="2026-04-28T00:00:00.000Z",
)


def write_keys(path: Path, key_id: str) -> None:
    lines = ("[default]", f"aws_access_key_id = {key_id}", f"aws_secret_access_key = {SECRET}")
    path.write_text("\n".join(lines))


def described(ami: Ami) -> dict[str, str]:
    return {
        "ami_id": ami.id,
        "owner_id": ami.owner,
        "name": ami.name,
        "description": ami.description,
        "architecture": ami.architecture,
        "creation_date": ami.created_at,
    }


def of_product(number: int, owner: str = MARKETPLACE) -> Ami:
    return Ami(
        id=f"ami-{number:017x}",
        owner=owner,
        name=f"rhcos-x86_64-9.8.{number}-{PRODUCT}",
        architecture="x86_64",
        created_at="2026-04-28T00:00:00.000Z",
    )


@pytest.fixture(scope="module")
def moto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    images = [RED_HATS, of_product(1), of_product(2), of_product(3, owner="111111111111")]
    amis = tmp_path_factory.mktemp("moto") / "amis.json"
    amis.write_text(json.dumps([described(one) for one in images]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MOTO_AMIS_PATH", str(amis))
        from moto.server import ThreadedMotoServer  # it reads the file when it is loaded

        server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        server.start()
        try:
            host, port = server.get_host_and_port()
            yield f"http://{host}:{port}"
        finally:
            server.stop()


@pytest.fixture(autouse=True)
def no_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "credentials"
    write_keys(path, "AKID")
    return path


def web_identity(folder: Path) -> Path:
    """As OpenShift writes it for a cluster that uses short-lived credentials."""
    (folder / "token").write_text(TOKEN)
    path = folder / "credentials"
    lines = ("[default]", "sts_regional_endpoints = regional", f"role_arn = {ROLE}")
    path.write_text("\n".join((*lines, f"web_identity_token_file = {folder / 'token'}")))
    return path


@asynccontextmanager
async def answering(
    monkeypatch: pytest.MonkeyPatch, *answers: tuple[int, str]
) -> AsyncIterator[list[dict[str, str]]]:
    """AWS that gives these answers, the last one again and again; yields the forms it got."""
    forms: list[dict[str, str]] = []

    async def handle(request: web.Request) -> web.Response:
        form = {name: str(value) for name, value in (await request.post()).items()}
        forms.append(form | {"authorization": request.headers.get("authorization", "")})
        status, text = answers[min(len(forms), len(answers)) - 1]
        return web.Response(text=text, status=status, headers={"Location": "/elsewhere"})

    app = web.Application()
    app.router.add_post("/{path:.*}", handle)
    async with TestServer(app) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.port}")
        yield forms


def page(ami: str, more: str = "") -> tuple[int, str]:
    token = f"<nextToken>{more}</nextToken>" if more else ""
    images = f"<imagesSet><item><imageId>{ami}</imageId></item></imagesSet>"
    name = "DescribeImagesResponse"
    return 200, f'<{name} xmlns="http://ec2.amazonaws.com/doc/2016-11-15/">{images}{token}</{name}>'


def error(status: int, code: str, message: str = "x") -> tuple[int, str]:
    text = f"<Error><Code>{code}</Code><Message>{message}</Message></Error>"
    return status, f"<Response><Errors>{text}</Errors><RequestID>1</RequestID></Response>"


async def test_ec2_names_the_owner_of_an_image(
    moto: str, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", moto)
    ec2 = Ec2Client(file)
    assert await ec2.image(REGION, RED_HATS.id) == RED_HATS
    assert await ec2.image(REGION, "ami-0fffffffffffffff0") is None


async def test_the_images_of_a_product_are_those_of_its_owner(
    moto: str, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", moto)
    found = await Ec2Client(file).images_of_product(REGION, MARKETPLACE, PRODUCT)
    assert sorted(one.id for one in found) == [of_product(1).id, of_product(2).id]
    assert {one.owner for one in found} == {MARKETPLACE}


async def test_a_web_identity_gets_keys_of_its_role(
    moto: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", moto)
    assert await Ec2Client(web_identity(tmp_path)).image(REGION, RED_HATS.id) == RED_HATS


@pytest.mark.parametrize("kind", ["keys", "web identity"])
async def test_without_a_file_the_environment_has_the_credentials(
    moto: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", moto)
    if kind == "keys":
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKID")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    else:
        web_identity(tmp_path)
        monkeypatch.setenv("AWS_ROLE_ARN", ROLE)
        monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(tmp_path / "token"))
    assert await Ec2Client().image(REGION, RED_HATS.id) == RED_HATS


async def test_the_file_wins_over_the_environment_and_new_keys_are_used_at_once(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "OTHER")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    async with answering(monkeypatch, page(RED_HATS.id)) as forms:
        ec2 = Ec2Client(file)
        await ec2.image(REGION, RED_HATS.id)
        write_keys(file, "NEWER")
        await ec2.image(REGION, RED_HATS.id)
    found = [one["authorization"] for one in forms]
    assert [one.split("Credential=")[1].split("/")[0] for one in found] == ["AKID", "NEWER"]
    assert all(f"/{REGION}/ec2/" in one for one in found)


async def test_all_pages_are_read(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pages = page(of_product(1).id, "next"), page(of_product(2).id)
    async with answering(monkeypatch, *pages) as forms:
        found = await Ec2Client(file).images_of_product(REGION, MARKETPLACE, PRODUCT)
    assert [one.id for one in found] == [of_product(1).id, of_product(2).id]
    assert (forms[0]["Owner.1"], forms[0]["Filter.1.Value.1"]) == (MARKETPLACE, f"*{PRODUCT}")
    assert forms[1]["NextToken"] == "next"


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (error(401, "AuthFailure"), "AWS refused DescribeImages in us-east-1: 401 AuthFailure"),
        (error(403, "UnauthorizedOperation", SECRET), "403 UnauthorizedOperation"),
        (error(503, "RequestLimitExceeded"), "503 RequestLimitExceeded"),
        ((307, ""), "cannot be read"),
        ((502, "<html>"), "502|cannot be read"),
        ((200, f"not XML {SECRET}"), "cannot be read"),
    ],
)
async def test_a_refusal_is_one_sentence_without_secrets(
    file: Path, monkeypatch: pytest.MonkeyPatch, answer: tuple[int, str], message: str
) -> None:
    async with answering(monkeypatch, answer) as forms:
        with pytest.raises(Ec2Error, match=message) as caught:
            await Ec2Client(file).image(REGION, RED_HATS.id)
    assert SECRET not in str(caught.value)
    assert len(forms) <= 2


async def test_sts_refuses_a_token_and_the_error_does_not_show_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusal = (
        400,
        (
            '<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Code>'
            f"InvalidIdentityToken</Code><Message>{TOKEN}</Message></Error></ErrorResponse>"
        ),
    )
    async with answering(monkeypatch, refusal) as forms:
        with pytest.raises(Ec2Error, match="400 InvalidIdentityToken") as caught:
            await Ec2Client(web_identity(tmp_path)).image(REGION, RED_HATS.id)
    assert TOKEN not in str(caught.value)
    assert {one["Action"] for one in forms} == {"AssumeRoleWithWebIdentity"}


async def test_a_server_that_is_not_there(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(Ec2Error, match="Could not connect"):
        await Ec2Client(file).image(REGION, RED_HATS.id)


@pytest.mark.parametrize("region", ["", "us-east-1.evil.example/"])
async def test_a_region_that_is_none_is_not_asked(
    file: Path, monkeypatch: pytest.MonkeyPatch, region: str
) -> None:
    async with answering(monkeypatch, page(RED_HATS.id)) as forms:
        with pytest.raises(Ec2Error, match="region"):
            await Ec2Client(file).image(region, RED_HATS.id)
    assert forms == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "profile"),
        ("nonsense", "parse"),
        ("[other]\nx = 1", "profile"),
        (f"[default]\naws_secret_access_key = {SECRET}", "credentials"),
        (f"[default]\nrole_arn = {ROLE}\nweb_identity_token_file = /gone", "cannot read /gone"),
        ("[default]\ncredential_process = touch ran", "credentials"),
        (f"[default]\nrole_arn = {ROLE}\nsource_profile = a\n[a]\ncredential_process = touch ran",
         "credentials"),
    ],
)  # fmt: skip
async def test_a_file_without_keys_is_named_and_no_program_of_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "credentials"
    path.write_text(content)
    async with answering(monkeypatch, page(RED_HATS.id)) as forms:
        with pytest.raises(Ec2Error, match=message) as caught:
            await Ec2Client(path).image(REGION, RED_HATS.id)
    assert SECRET not in str(caught.value)
    assert forms == []
    assert not (tmp_path / "ran").exists()


async def test_a_file_that_is_gone_or_has_no_end(tmp_path: Path) -> None:
    for path in (tmp_path / "gone", Path("/dev/zero")):
        with pytest.raises(Ec2Error, match=f"cannot read {path}"):
            await Ec2Client(path).image(REGION, RED_HATS.id)


def test_without_botocore_a_sentence_names_the_extra(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "lading.adapters.ec2")
    monkeypatch.setitem(sys.modules, "botocore.config", None)
    with pytest.raises(Ec2Error, match=r"botocore.*install lading\[aws\]"):
        clouds.cloud_access(ask_aws=False, aws_credentials_file=file)
    assert clouds.cloud_access(ask_aws=False, aws_credentials_file=None).ec2 is None
