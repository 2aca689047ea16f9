"""The client of EC2 on a server of this machine: what is asked, and what an answer means."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from lading.adapters.clock import SystemClock
from lading.adapters.ec2 import client, exchange
from lading.adapters.ec2.client import Ec2Client
from lading.ports.ec2 import Ami, Ec2Error

SECRET = "wJalrXUtnFEMI"
REGION = "us-east-1"
PRODUCT = "01234567-89ab-cdef-0123-456789abcdef"
IMAGES = """<?xml version="1.0" encoding="UTF-8"?>
<DescribeImagesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/">
  <requestId>1</requestId>
  <imagesSet>
    <item>
      <imageId>ami-0123456789abcdef0</imageId>
      <imageOwnerId>531415883065</imageOwnerId>
      <architecture>x86_64</architecture>
      <creationDate>2026-04-28T00:00:00.000Z</creationDate>
      <name>rhcos</name>
      <description>RHEL CoreOS 9.8.20260428-0</description>
    </item>
  </imagesSet>
</DescribeImagesResponse>"""
NONE = '<DescribeImagesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"/>'
REFUSED = "<Response><Errors><Error><Code>AuthFailure</Code><Message>x</Message></Error></Errors></Response>"  # noqa: E501
AMI = Ami(
    id="ami-0123456789abcdef0",
    owner="531415883065",
    name="rhcos",
    description="RHEL CoreOS 9.8.20260428-0",
    architecture="x86_64",
    created_at="2026-04-28T00:00:00.000Z",
)
Answer = Callable[[], web.Response]


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    path = tmp_path / "credentials"
    lines = ("[default]", "aws_access_key_id = AKID", f"aws_secret_access_key = {SECRET}")
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@asynccontextmanager
async def asking(
    keys: Path, answer: Answer
) -> AsyncIterator[tuple[Ec2Client, list[tuple[dict[str, str], dict[str, str]]]]]:
    """A client, and the headers and forms that the server got."""
    seen: list[tuple[dict[str, str], dict[str, str]]] = []

    async def handle(request: web.Request) -> web.Response:
        form = {name: str(value) for name, value in (await request.post()).items()}
        seen.append(({name.lower(): value for name, value in request.headers.items()}, form))
        return answer()

    app = web.Application()
    app.router.add_post("/", handle)
    async with (
        TestServer(app) as server,
        client.open_client(
            keys, SystemClock(), {}, endpoint=lambda region: f"http://127.0.0.1:{server.port}"
        ) as ec2,
    ):
        yield ec2, seen


def text(body: str, status: int = 200) -> Answer:
    return lambda: web.Response(text=body, status=status)


async def test_the_owner_of_an_image(keys: Path) -> None:
    async with asking(keys, text(IMAGES)) as (ec2, seen):
        assert await ec2.image(REGION, AMI.id) == AMI
    ((headers, form),) = seen
    assert form == {
        "Action": "DescribeImages",
        "Version": "2016-11-15",
        "Filter.1.Name": "image-id",
        "Filter.1.Value.1": AMI.id,
    }
    assert "Credential=AKID/" in headers["authorization"]
    assert f"/{REGION}/ec2/aws4_request" in headers["authorization"]


async def test_an_image_that_is_not_there(keys: Path) -> None:
    async with asking(keys, text(NONE)) as (ec2, _):
        assert await ec2.image(REGION, AMI.id) is None


async def test_the_images_of_a_product(keys: Path) -> None:
    async with asking(keys, text(IMAGES)) as (ec2, seen):
        assert await ec2.images_of_product(REGION, "679593333241", PRODUCT) == (AMI,)
        assert await ec2.images_of_product(REGION, "679593333241", "*") == ()
    ((_, form),) = seen
    assert (form["Owner.1"], form["Filter.1.Value.1"]) == ("679593333241", f"*{PRODUCT}")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (text(REFUSED, 401), "refused: 401 AuthFailure"),
        (text("<html>", 502), "refused: 502"),
        (text("not XML"), "not a list of images"),
        (text("<other/>"), "not a list of images"),
        (text('<!DOCTYPE a [<!ENTITY b "c">]>' + NONE), "not a list of images"),
    ],
)
async def test_an_answer_that_is_none(keys: Path, answer: Answer, message: str) -> None:
    async with asking(keys, answer) as (ec2, _):
        with pytest.raises(Ec2Error, match=message) as caught:
            await ec2.image(REGION, AMI.id)
    assert SECRET not in str(caught.value)


async def test_an_answer_without_end_is_not_read_to_it(
    keys: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange, "ANSWER_BYTES_MAX", 1000)
    async with asking(keys, text("x" * 1001)) as (ec2, _):
        with pytest.raises(Ec2Error, match="more than 1000 bytes"):
            await ec2.image(REGION, AMI.id)


async def test_a_server_that_is_not_there(keys: Path) -> None:
    async with client.open_client(
        keys, SystemClock(), {}, endpoint=lambda region: "http://127.0.0.1:9"
    ) as ec2:
        with pytest.raises(Ec2Error, match="cannot connect"):
            await ec2.image(REGION, AMI.id)


@pytest.mark.parametrize("region", ["", "us-east-1.evil.example/", "US"])
async def test_a_region_that_is_none_is_not_asked(keys: Path, region: str) -> None:
    async with asking(keys, text(IMAGES)) as (ec2, seen):
        with pytest.raises(Ec2Error, match="not the name of a region"):
            await ec2.image(region, AMI.id)
    assert seen == []


def test_the_endpoint_of_a_region() -> None:
    assert client.endpoint_of("eu-west-1") == "https://ec2.eu-west-1.amazonaws.com"
    assert client.endpoint_of("cn-north-1") == "https://ec2.cn-north-1.amazonaws.com.cn"


async def test_no_redirect_is_followed(keys: Path) -> None:
    def moved() -> web.Response:
        return web.Response(status=307, headers={"Location": "/elsewhere"})

    async with asking(keys, moved) as (ec2, seen):
        with pytest.raises(Ec2Error, match="refused: 307"):
            await ec2.image(REGION, AMI.id)
    assert len(seen) == 1
