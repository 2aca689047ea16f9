"""One POST to a service of AWS, and what its XML answers mean.

An answer is bounded, no redirect is followed, and nothing of a request reaches an error.
"""

import re
from collections.abc import Mapping
from xml.etree import ElementTree

import aiohttp

from lading.adapters import connecting, proxies
from lading.ports.ec2 import Ec2Error

SECONDS_MAX = 15.0
ANSWER_BYTES_MAX = 8 * 1024 * 1024
FORM = "application/x-www-form-urlencoded; charset=utf-8"
_OK = 200


def domain_of(region: str) -> str:
    return "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"


class AwsExchange:
    def __init__(self, session: aiohttp.ClientSession, environment: Mapping[str, str]) -> None:
        self._session = session
        self._environment = environment

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> str:
        """The text of the answer; raises Ec2Error, also when the service refuses."""
        proxy = proxies.proxy_for(url, self._environment)
        try:
            async with self._session.post(
                url,
                data=body,
                headers=headers,
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(total=SECONDS_MAX),
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
            raise Ec2Error(f"{url} refused: {response.status} {code(text)}".rstrip())
        return text


def parsed(text: str) -> ElementTree.Element | None:
    """None where it is no XML that AWS would send: it sends no document type."""
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        return None
    try:
        return ElementTree.fromstring(text)  # noqa: S314 - without a document type, and bounded
    except ElementTree.ParseError:
        return None


def code(text: str) -> str:
    """`AuthFailure`, `UnauthorizedOperation`: the message beside it may name the account."""
    root = parsed(text)
    found = root.findtext(".//{*}Code", default="") if root is not None else ""
    return found if re.fullmatch(r"[A-Za-z.]{1,64}", found) else ""
