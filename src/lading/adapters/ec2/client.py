"""Asks EC2's DescribeImages. The keys come from a file in the form of AWS's own tools.

The file is read for each question, so keys that rotate are used at once. An answer is bounded,
and neither a key nor a request reaches an error.
"""

import configparser
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlencode, urlsplit
from xml.etree import ElementTree

import aiohttp

from lading.adapters import connecting, proxies
from lading.adapters.ec2 import signing
from lading.adapters.ec2.signing import AwsKeys
from lading.ports.clock import Clock
from lading.ports.ec2 import Ami, Ec2Error

API_VERSION = "2016-11-15"
NAMESPACE = "{http://ec2.amazonaws.com/doc/2016-11-15/}"
SECONDS_MAX = 15.0
ANSWER_BYTES_MAX = 8 * 1024 * 1024
_REGION = re.compile(r"[a-z]{2}(?:-[a-z]+)+-[0-9]{1,2}")
_PRODUCT = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_OK = 200


def endpoint_of(region: str) -> str:
    suffix = ".cn" if region.startswith("cn-") else ""
    return f"https://ec2.{region}.amazonaws.com{suffix}"


@asynccontextmanager
async def open_client(
    keys_file: Path,
    clock: Clock,
    environment: Mapping[str, str],
    *,
    endpoint: Callable[[str], str] = endpoint_of,
) -> AsyncIterator["Ec2Client"]:
    async with aiohttp.ClientSession(
        timeout=aiohttp.ClientTimeout(total=SECONDS_MAX),
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"User-Agent": "lading"},
    ) as session:
        yield Ec2Client(session, keys_file, clock, environment, endpoint)


class Ec2Client:
    def __init__(
        self,
        session: aiohttp.ClientSession,
        keys_file: Path,
        clock: Clock,
        environment: Mapping[str, str],
        endpoint: Callable[[str], str],
    ) -> None:
        self._session = session
        self._keys_file = keys_file
        self._clock = clock
        self._environment = environment
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
        text = await self._post(region, urlencode(asked).encode())
        return _images(text)

    async def _post(self, region: str, body: bytes) -> str:
        url = self._endpoint(region)
        headers = signing.signed_headers(
            read_keys(self._keys_file),
            method="POST",
            headers={
                "content-type": "application/x-www-form-urlencoded; charset=utf-8",
                "host": urlsplit(url).netloc,
            },
            body=body,
            region=region,
            service="ec2",
            now=self._clock.now(),
        )
        proxy = proxies.proxy_for(url, self._environment)
        try:
            async with self._session.post(
                url,
                data=body,
                headers=headers,
                allow_redirects=False,
                proxy=proxy.url if proxy else None,
                proxy_headers=proxy.headers if proxy else None,
            ) as response:
                found = await response.content.read(ANSWER_BYTES_MAX + 1)
                while len(found) <= ANSWER_BYTES_MAX and not response.content.at_eof():
                    found += await response.content.read(ANSWER_BYTES_MAX + 1 - len(found))
        except TimeoutError:
            raise Ec2Error(f"{url} did not answer within {SECONDS_MAX:.0f} s") from None
        except (aiohttp.ClientError, OSError) as error:
            raise Ec2Error(f"cannot connect to {url}: {connecting.reason(error)}") from None
        if len(found) > ANSWER_BYTES_MAX:
            raise Ec2Error(f"{url} answered with more than {ANSWER_BYTES_MAX} bytes")
        text = found.decode("utf-8", "replace")
        if response.status != _OK:
            raise Ec2Error(f"{url} refused: {response.status} {_code(text)}".rstrip())
        return text


def read_keys(path: Path) -> AwsKeys:
    """Of the profile `default`; the text of the file reaches no error."""
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read_string(path.read_text(encoding="utf-8"))
        profile = parser["default"]
        return AwsKeys(
            access_key_id=profile["aws_access_key_id"],
            secret_access_key=profile["aws_secret_access_key"],
            session_token=profile.get("aws_session_token", ""),
        )
    except (OSError, UnicodeDecodeError) as error:
        raise Ec2Error(f"cannot read {path}: {type(error).__name__}") from None
    except (configparser.Error, KeyError):
        raise Ec2Error(
            f"{path} has no profile [default] with aws_access_key_id and aws_secret_access_key"
        ) from None


def _parsed(text: str) -> ElementTree.Element | None:
    """None where it is no XML that EC2 would send: it sends no document type."""
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        return None
    try:
        return ElementTree.fromstring(text)  # noqa: S314 - without a document type, and bounded
    except ElementTree.ParseError:
        return None


def _images(text: str) -> tuple[Ami, ...]:
    root = _parsed(text)
    if root is None or root.tag != f"{NAMESPACE}DescribeImagesResponse":
        raise Ec2Error("EC2 answered with something that is no list of images")
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


def _code(text: str) -> str:
    """`AuthFailure`, `UnauthorizedOperation`: the message beside it may name the account."""
    root = _parsed(text)
    found = root.findtext(".//Code", default="") if root is not None else ""
    return found if re.fullmatch(r"[A-Za-z.]{1,64}", found) else ""
