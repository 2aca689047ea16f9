"""A small S3 server in memory: what obstore asks of a bucket, in pages, with faults on demand.

It answers the XML API of Google Cloud Storage as well, which differs in headers: there an object
has a generation, and conditions name it.
"""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from urllib.parse import unquote
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from aiohttp import web
from aiohttp.test_utils import TestServer

PAGE_KEYS = 100


@dataclass
class Bucket:
    name: str = "images"
    objects: dict[str, tuple[bytes, datetime]] = field(default_factory=dict)
    locked: set[str] = field(default_factory=set)
    """Keys that DeleteObjects and DELETE refuse."""
    broken: set[str] = field(default_factory=set)
    """Keys that DeleteObjects cannot delete."""
    names_missing_keys: bool = False
    """DeleteObjects reports a key that is not there; versitygw does, when two delete it at once."""
    forbidden_methods: set[str] = field(default_factory=set)
    refusal: str = ""
    """Everything is refused with this text; `{authorization}` is what was received."""
    moved_to: str = ""
    """Everything is redirected there."""
    methods: list[str] = field(default_factory=list)
    signature: str = ""
    """Of the last request."""
    unavailable_every: int = 0
    """Each request of this number is answered with 503; 0 for none."""
    latency_seconds: float = 0.0
    fault: "Callable[[web.Request], Awaitable[web.StreamResponse | None]] | None" = None
    """Asked before each request is answered; what it returns is the answer."""
    url: str = ""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.methods.append(request.method)
        authorization = request.headers.get("Authorization", "")
        self.signature = authorization.rpartition("Signature=")[2]
        if self.moved_to:
            return web.Response(status=307, headers={"Location": self.moved_to})
        if self.refusal:
            text = self.refusal.replace("{authorization}", authorization)
            return web.Response(status=403, text=text)
        await asyncio.sleep(self.latency_seconds)
        if self.unavailable_every and len(self.methods) % self.unavailable_every == 0:
            return error(503, "SlowDown")
        if self.fault is not None and (faulty := await self.fault(request)) is not None:
            return faulty
        bucket, _, key = request.path.lstrip("/").partition("/")
        if bucket != self.name:
            return error(404, "NoSuchBucket")
        if request.method in self.forbidden_methods:
            return error(403, "AccessDenied")
        if not key:
            return await self._of_bucket(request)
        match request.method:
            case "PUT":
                return await self._put(request, key)
            case "DELETE":
                return self._delete(key)
            case _:
                return self._get(key)

    async def _of_bucket(self, request: web.Request) -> web.StreamResponse:
        if request.method == "POST":
            return self._delete_many(await request.text())
        query = request.query
        after = query.get("continuation-token", query.get("start-after", ""))
        keys = [one for one in sorted(self.objects) if one.startswith(query.get("prefix", ""))]
        keys = [one for one in keys if one > after]
        page = keys[:PAGE_KEYS]
        entries = "".join(
            f"<Contents><Key>{escape(key)}</Key><Size>{len(content)}</Size>"
            f"<LastModified>{time:%Y-%m-%dT%H:%M:%S.000Z}</LastModified>"
            f"<ETag>{_tag(content)}</ETag></Contents>"
            for key in page
            for content, time in (self.objects[key],)
        )
        more = len(keys) > len(page)
        token = f"<NextContinuationToken>{page[-1]}</NextContinuationToken>" if more else ""
        return _xml(
            f"<ListBucketResult><IsTruncated>{str(more).lower()}</IsTruncated>{token}"
            f"{entries}</ListBucketResult>"
        )

    def _delete_many(self, body: str) -> web.StreamResponse:
        keys = [one.text or "" for one in ElementTree.fromstring(body).iter() if "Key" in one.tag]
        parts = []
        for key in keys:
            if key in self.locked:
                parts.append(f"<Error><Key>{escape(key)}</Key><Code>AccessDenied</Code>"
                             "<Message>locked</Message></Error>")  # fmt: skip
            elif key in self.broken:
                parts.append(f"<Error><Key>{escape(key)}</Key><Code>InvalidObjectState</Code>"
                             "<Message>broken</Message></Error>")  # fmt: skip
            elif self.names_missing_keys and key not in self.objects:
                parts.append(f"<Error><Key>{escape(key)}</Key><Code>NoSuchKey</Code>"
                             "<Message>does not exist</Message></Error>")  # fmt: skip
            else:
                self.objects.pop(key, None)
                parts.append(f"<Deleted><Key>{escape(key)}</Key></Deleted>")
        return _xml(f"<DeleteResult>{''.join(parts)}</DeleteResult>")

    def _delete(self, key: str) -> web.StreamResponse:
        if key in self.locked:
            return error(403, "AccessDenied")
        self.objects.pop(key, None)
        return web.Response(status=204)

    async def _put(self, request: web.Request, key: str) -> web.StreamResponse:
        known = self.objects.get(key)
        if request.headers.get("If-None-Match") == "*" and known is not None:
            return error(412, "PreconditionFailed")
        wanted = request.headers.get("If-Match")
        if wanted is not None and (known is None or _tag(known[0]) != wanted):
            return error(412, "PreconditionFailed")
        generation = request.headers.get("x-goog-if-generation-match")
        if generation is not None and generation != _generation(known and known[0]):
            return error(412, "PreconditionFailed")
        headers = request.headers
        source = unquote(headers.get("x-amz-copy-source", headers.get("x-goog-copy-source", "")))
        if source:
            copied = self.objects.get(source.lstrip("/").partition("/")[2])
            if copied is None:
                return error(404, "NoSuchKey")
            self.objects[key] = copied[0], datetime.now(UTC)
            return _xml(f"<CopyObjectResult><ETag>{_tag(copied[0])}</ETag></CopyObjectResult>")
        content = await request.read()
        self.objects[key] = content, datetime.now(UTC)
        return web.Response(headers=_marks(content))

    def _get(self, key: str) -> web.StreamResponse:
        found = self.objects.get(key)
        if found is None:
            return error(404, "NoSuchKey")
        content, time = found
        modified = time.strftime("%a, %d %b %Y %H:%M:%S GMT")
        return web.Response(body=content, headers={**_marks(content), "Last-Modified": modified})


def _tag(content: bytes) -> str:
    return f'"{hashlib.md5(content, usedforsecurity=False).hexdigest()}"'


def _generation(content: bytes | None) -> str:
    """0 is that of no object."""
    return "0" if content is None else str(int(_tag(content)[1:9], 16))


def _marks(content: bytes) -> dict[str, str]:
    return {"ETag": _tag(content), "x-goog-generation": _generation(content)}


def _xml(body: str) -> web.Response:
    return web.Response(text=body, content_type="application/xml")


def error(status: int, code: str) -> web.Response:
    text = f"<Error><Code>{code}</Code><Message>{code}</Message></Error>"
    return web.Response(status=status, text=text, content_type="application/xml")


def environment(bucket: Bucket) -> dict[str, str]:
    """What tells a client of S3 about this server."""
    return {
        "AWS_ENDPOINT_URL": bucket.url,
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
    }


def google_environment(bucket: Bucket) -> dict[str, str]:
    """What tells a client of Google Cloud Storage about this server."""
    account = {"disable_oauth": True, "client_email": "", "private_key": "", "private_key_id": ""}
    return {"GOOGLE_BASE_URL": bucket.url, "GOOGLE_SERVICE_ACCOUNT_KEY": json.dumps(account)}


@asynccontextmanager
async def serving() -> AsyncIterator[Bucket]:
    bucket = Bucket()
    app = web.Application(client_max_size=1 << 26)
    app.router.add_route("*", "/{path:.*}", bucket.answer)
    async with TestServer(app) as server:
        bucket.url = str(server.make_url("")).rstrip("/")
        yield bucket
