"""Signs a request as AWS wants it (Signature Version 4). Pure."""

import hashlib
import hmac
from collections.abc import Mapping
from datetime import datetime

from lading.kernel.values import Redacted

ALGORITHM = "AWS4-HMAC-SHA256"


class AwsKeys(Redacted, frozen=True, kw_only=True):
    shown = ("access_key_id",)

    access_key_id: str
    secret_access_key: str
    session_token: str = ""


def signed_headers(
    keys: AwsKeys,
    *,
    method: str,
    headers: Mapping[str, str],
    body: bytes,
    region: str,
    service: str,
    now: datetime,
) -> dict[str, str]:
    """The headers with those that prove who asks. `headers` has names in lower case and `host`.

    The path is the root and there is no query: what is asked for is in the body.
    """
    stamp = now.strftime("%Y%m%dT%H%M%SZ")
    token = {"x-amz-security-token": keys.session_token} if keys.session_token else {}
    signed = {**headers, "x-amz-date": stamp, **token}
    names = ";".join(sorted(signed))
    lines = [f"{name}:{' '.join(signed[name].split())}" for name in sorted(signed)]
    canonical = "\n".join([method, "/", "", *lines, "", names, hashlib.sha256(body).hexdigest()])
    scope = f"{stamp[:8]}/{region}/{service}/aws4_request"
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    text = "\n".join([ALGORITHM, stamp, scope, digest])
    key = f"AWS4{keys.secret_access_key}".encode()
    for part in (stamp[:8], region, service, "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    credential = f"{keys.access_key_id}/{scope}"
    authorization = (
        f"{ALGORITHM} Credential={credential}, SignedHeaders={names}, Signature={signature}"
    )
    return {**signed, "authorization": authorization}
