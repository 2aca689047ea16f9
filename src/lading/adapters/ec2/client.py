"""Asks EC2's DescribeImages. The keys come from a file in the form of AWS's own tools."""

import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlencode, urlsplit
from xml.etree import ElementTree

import aiohttp

from lading.adapters.ec2 import exchange, signing
from lading.adapters.ec2.exchange import AwsExchange
from lading.adapters.ec2.keys import KeySource, sts_endpoint_of
from lading.ports.clock import Clock
from lading.ports.ec2 import Ami, Ec2Error

API_VERSION = "2016-11-15"
NAMESPACE = "{http://ec2.amazonaws.com/doc/2016-11-15/}"
_REGION = re.compile(r"[a-z]{2}(?:-[a-z]+)+-[0-9]{1,2}")
_PRODUCT = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def endpoint_of(region: str) -> str:
    return f"https://ec2.{region}.{exchange.domain_of(region)}"


@asynccontextmanager
async def open_client(
    keys_file: Path,
    clock: Clock,
    environment: Mapping[str, str],
    *,
    endpoint: Callable[[str], str] = endpoint_of,
    sts_endpoint: Callable[[str], str] = sts_endpoint_of,
) -> AsyncIterator["Ec2Client"]:
    async with aiohttp.ClientSession(
        cookie_jar=aiohttp.DummyCookieJar(), headers={"User-Agent": "lading"}
    ) as session:
        aws = AwsExchange(session, environment)
        source = KeySource(file=keys_file, aws=aws, clock=clock, sts_endpoint=sts_endpoint)
        yield Ec2Client(aws, source, clock, endpoint)


class Ec2Client:
    def __init__(
        self, aws: AwsExchange, source: KeySource, clock: Clock, endpoint: Callable[[str], str]
    ) -> None:
        self._aws = aws
        self._source = source
        self._clock = clock
        self._endpoint = endpoint

    async def image(self, region: str, ami: str) -> Ami | None:
        query = {"Filter.1.Name": "image-id", "Filter.1.Value.1": ami}
        return next(iter(await self._describe(region, query)), None)

    async def images_of_product(self, region: str, owner: str, product: str) -> tuple[Ami, ...]:
        if not _PRODUCT.fullmatch(product):
            return ()
        name = {"Filter.1.Name": "name", "Filter.1.Value.1": f"*{product}"}
        return await self._describe(region, {"Owner.1": owner, **name})

    async def _describe(self, region: str, query: Mapping[str, str]) -> tuple[Ami, ...]:
        if not _REGION.fullmatch(region):
            raise Ec2Error(f"{region[:64]!r} is not the name of a region")
        asked = {"Action": "DescribeImages", "Version": API_VERSION, **query}
        return images(await self._post(region, urlencode(asked).encode()))

    async def _post(self, region: str, body: bytes) -> str:
        url = self._endpoint(region)
        headers = signing.signed_headers(
            await self._source.keys(region),
            method="POST",
            headers={"content-type": exchange.FORM, "host": urlsplit(url).netloc},
            body=body,
            region=region,
            service="ec2",
            now=self._clock.now(),
        )
        return await self._aws.post(url, body, headers)


def images(text: str) -> tuple[Ami, ...]:
    """What EC2 answered with; raises Ec2Error."""
    root = exchange.parsed(text)
    if root is None or root.tag != f"{NAMESPACE}DescribeImagesResponse":
        raise Ec2Error("the answer of EC2 is not a list of images")
    return tuple(
        Ami(
            id=_text(item, "imageId"),
            owner=_text(item, "imageOwnerId"),
            name=_text(item, "name"),
            description=_text(item, "description"),
            architecture=_text(item, "architecture"),
            created_at=_text(item, "creationDate"),
        )
        for item in root.findall(f"{NAMESPACE}imagesSet/{NAMESPACE}item")
    )


def _text(item: ElementTree.Element, name: str) -> str:
    return item.findtext(f"{NAMESPACE}{name}", default="")
