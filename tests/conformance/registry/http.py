"""Plain HTTP for the suite: one request in, the whole answer out; and content to push."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any

import aiohttp
from multidict import CIMultiDict

OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
OCI_INDEX = "application/vnd.oci.image.index.v1+json"
OCTETS = {"Content-Type": "application/octet-stream"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    status: int
    headers: CIMultiDict[str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error_codes(self) -> list[str]:
        return [error["code"] for error in self.json()["errors"]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Http:
    """Requests to one repository of the target."""

    session: aiohttp.ClientSession
    url: str
    repository: str

    async def __call__(
        self,
        method: str,
        path: str,
        *,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> Answer:
        """`path` is below the repository, or absolute when it begins with a slash or a scheme."""
        if path.startswith("/"):
            path = f"{self.url}{path}"
        elif "://" not in path:
            path = f"{self.url}/v2/{self.repository}/{path}"
        async with self.session.request(
            method, path, data=body, headers=headers, allow_redirects=False
        ) as response:
            return Answer(
                status=response.status,
                headers=CIMultiDict(response.headers),
                body=await response.read(),
            )

    async def begin_upload(self) -> str:
        answer = await self("POST", "blobs/uploads/")
        assert answer.status == 202
        return answer.headers["Location"]

    async def push_blob(self, content: bytes, algorithm: str = "sha256") -> str:
        digest = digest_of(content, algorithm)
        location = await self.begin_upload()
        answer = await self("PUT", with_digest(location, digest), body=content, headers=OCTETS)
        assert answer.status == 201
        return digest

    async def push_manifest(self, document: dict[str, Any], tag: str) -> str:
        body = json.dumps(document).encode()
        headers = {"Content-Type": document["mediaType"]}
        answer = await self("PUT", f"manifests/{tag}", body=body, headers=headers)
        assert answer.status == 201, answer.body
        return digest_of(body)

    async def push_image(self, tag: str, **extra: Any) -> str:
        """A small image of its own; returns its digest."""
        return await self.push_manifest(await self.image(tag, **extra), tag)

    async def image(self, salt: str, **extra: Any) -> dict[str, Any]:
        """The document of an image; its blobs are pushed already."""
        config = json.dumps({"os": "linux", "architecture": "amd64", "salt": salt}).encode()
        layer = f"layer of {salt}".encode()
        await self.push_blob(config)
        await self.push_blob(layer)
        return {
            "schemaVersion": 2,
            "mediaType": OCI_MANIFEST,
            "config": descriptor("application/vnd.oci.image.config.v1+json", config),
            "layers": [descriptor("application/vnd.oci.image.layer.v1.tar", layer)],
            **extra,
        }


def descriptor(media_type: str, content: bytes) -> dict[str, Any]:
    return {"mediaType": media_type, "digest": digest_of(content), "size": len(content)}


def digest_of(content: bytes, algorithm: str = "sha256") -> str:
    return f"{algorithm}:{hashlib.new(algorithm, content).hexdigest()}"


def with_digest(location: str, digest: str) -> str:
    return f"{location}{'&' if '?' in location else '?'}digest={digest}"
