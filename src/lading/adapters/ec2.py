"""Asks EC2 about machine images with botocore, which the extra `aws` installs.

botocore finds credentials, gets keys for a role, signs, and retries. It blocks, so each request
runs in a thread. No key, no token and no text of an answer is in an error.
"""

import asyncio
import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError
from botocore.session import Session

from lading import files
from lading.ports.ec2 import Ami, Ec2Error

IMAGES_MAX = 10_000  # of one Marketplace product
MESSAGE_CHARACTERS_MAX = 300
PROFILE = "default"
# The others run a program that a file names, or need a person who logs in.
CREDENTIAL_SOURCES = (
    "env",
    "assume-role-with-web-identity",
    "shared-credentials-file",
    "config-file",
    "container-role",
    "iam-role",
)
_CONFIG = Config(
    connect_timeout=5, read_timeout=15, retries={"mode": "standard", "total_max_attempts": 2}
)


class Ec2Client:
    """With a file, its profile `default` is used; otherwise botocore looks for credentials."""

    def __init__(self, credentials_file: Path | None = None) -> None:
        self._file = credentials_file
        self._clients: dict[tuple[str, bytes], Any] = {}
        self._lock = asyncio.Lock()  # a session of botocore is not thread-safe

    async def image(self, region: str, ami: str) -> Ami | None:
        found = await self._describe(region, Filters=[{"Name": "image-id", "Values": [ami]}])
        return next(iter(found), None)

    async def images_of_product(self, region: str, owner: str, product: str) -> tuple[Ami, ...]:
        name = {"Name": "name", "Values": [f"*{product}"]}
        return await self._describe(region, Owners=[owner], Filters=[name])

    async def _describe(self, region: str, **query: Any) -> tuple[Ami, ...]:
        if not region:
            raise Ec2Error("the region of the machine set is not known")
        async with self._lock:
            return await asyncio.to_thread(self._ask, region, query)

    def _ask(self, region: str, query: Mapping[str, Any]) -> tuple[Ami, ...]:
        try:
            pages = self._client(region).get_paginator("describe_images")
            limit = {"MaxItems": IMAGES_MAX}
            found = pages.paginate(**query, PaginationConfig=limit).build_full_result()
        except ClientError as error:
            raise Ec2Error(_refusal(error, region)) from None
        except BotoCoreError as error:
            message = " ".join(str(error).split())[:MESSAGE_CHARACTERS_MAX]
            raise Ec2Error(f"cannot ask EC2 in {region}: {message}") from None
        except OSError as error:
            reason = f"cannot read {error.filename}: {type(error).__name__}"
            raise Ec2Error(f"cannot ask EC2 in {region}: {reason}") from None
        except ResponseParserError:
            raise Ec2Error(f"AWS gave an answer that cannot be read, in {region}") from None
        except ValueError as error:  # a token or a file that is no text
            raise Ec2Error(f"cannot ask EC2 in {region}: {type(error).__name__}") from None
        return tuple(_ami(one) for one in found["Images"])

    def _client(self, region: str) -> Any:
        """Reads the file each time, so that new keys are used at once."""
        content = files.read_bounded(self._file) if self._file else b""
        key = region, hashlib.sha256(content).digest()
        if key not in self._clients:
            others = {one: client for one, client in self._clients.items() if one[1] == key[1]}
            self._clients = {**others, key: self._new_client(region)}
        return self._clients[key]

    def _new_client(self, region: str) -> Any:
        session = Session(profile=PROFILE if self._file else None)
        if self._file:
            session.set_config_variable("credentials_file", str(self._file))
        session.set_config_variable("region", region)  # for STS too
        session.set_default_client_config(_CONFIG)
        sources = session.get_component("credential_provider")
        for one in tuple(sources.providers):
            if one.METHOD not in CREDENTIAL_SOURCES:
                sources.remove(one.METHOD)
        return session.create_client("ec2", region_name=region)


def _refusal(error: ClientError, region: str) -> str:
    """Only the code: AWS's message may name the account."""
    code = str(error.response.get("Error", {}).get("Code", ""))
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", "")
    shown = code if re.fullmatch(r"[A-Za-z.]{1,64}", code) else ""
    return f"AWS refused {error.operation_name} in {region}: {status} {shown}".rstrip()


def _ami(image: Mapping[str, Any]) -> Ami:
    return Ami(
        id=image["ImageId"],
        owner=image.get("OwnerId", ""),
        name=image.get("Name", ""),
        description=image.get("Description", ""),
        architecture=image.get("Architecture", ""),
        created_at=image.get("CreationDate", ""),
    )
