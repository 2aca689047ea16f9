"""Who gets an answer from the dashboard's server, and with which headers."""

import asyncio
import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import aiohttp
import pytest
from yarl import URL

from lading.web import server
from lading.web.details import NotPlanned, NotThere
from lading.web.hub import Hub
from lading.web.server import Session


async def found(given: dict[str, str]) -> dict[str, str]:
    if given.get("name") == "nobody":
        raise NotThere("There is no nobody.")
    return given


async def planned(body: bytes) -> dict[str, int]:
    if body == b"bad":
        raise NotPlanned("cannot ask https://robot:correct-horse@registry.example.com/v2")
    return {"bytes": len(body)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    browser: aiohttp.ClientSession
    url: URL
    """With the token."""
    hub: Hub

    @property
    def page(self) -> URL:
        return self.url.with_query(None)

    @property
    def origin(self) -> dict[str, str]:
        """What a browser sends along when the page of this server asks."""
        return {"Origin": str(self.page.origin())}


@asynccontextmanager
async def opened() -> AsyncIterator[Opened]:
    hub = Hub()
    jar = aiohttp.CookieJar(unsafe=True)  # cookies of an IP address
    async with (
        server.serve(hub, {"/details/thing": found}, {"/plans/thing": planned}) as url,
        aiohttp.ClientSession(cookie_jar=jar) as browser,
    ):
        yield Opened(browser=browser, url=URL(url), hub=hub)


async def test_it_listens_on_loopback_only() -> None:
    async with opened() as one:
        assert one.url.host == "127.0.0.1"


async def test_the_token_is_exchanged_for_a_cookie_and_leaves_the_address() -> None:
    async with opened() as one:
        async with one.browser.get(one.url, allow_redirects=False) as answer:
            assert (answer.status, answer.headers["Location"]) == (303, "/")
            cookie = answer.headers["Set-Cookie"]
            assert "HttpOnly" in cookie
            assert "SameSite=Strict" in cookie
            assert one.url.query["token"] not in cookie
        async with one.browser.get(one.page) as answer:
            assert answer.status == 200
            assert "/static/app.js" in await answer.text()


async def test_the_url_opens_the_page_once_and_says_how_to_get_another() -> None:
    async with opened() as one:
        async with one.browser.get(one.url) as answer:
            assert answer.status == 200
        for url in (one.page, one.url):  # a reload, a second tab, the URL again
            async with one.browser.get(url) as answer:
                assert (answer.status, answer.url) == (200, one.page)
        async with aiohttp.ClientSession() as another:
            async with another.get(one.url) as answer:
                assert answer.status == 403
                assert "Set-Cookie" not in answer.headers
                text = await answer.text()
                assert str(one.page.origin()) in text
                assert "run `lading dashboard`; it prints a new URL" in text
            async with another.get(one.page) as answer:
                assert answer.status == 401


@pytest.mark.parametrize(
    ("method", "headers"),
    [
        ("HEAD", {}),
        ("GET", {"Sec-Purpose": "prefetch"}),
        ("GET", {"Sec-Purpose": "prefetch;prerender"}),
        ("GET", {"Purpose": "prefetch"}),
        ("GET", {"X-Moz": "prefetch"}),
        ("GET", {"Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}),
        ("GET", {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}),
    ],
)
async def test_only_a_page_that_is_opened_uses_the_token(
    method: str, headers: dict[str, str]
) -> None:
    async with opened() as one:
        async with one.browser.request(method, one.url, headers=headers) as answer:
            assert answer.status == 403
            assert "Set-Cookie" not in answer.headers
        opening = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
        async with one.browser.get(one.url, headers=opening) as answer:
            assert answer.status == 200


async def test_of_two_browsers_at_once_one_opens_the_page() -> None:
    async with opened() as one, aiohttp.ClientSession() as another:

        async def status(browser: aiohttp.ClientSession) -> int:
            async with browser.get(one.url, allow_redirects=False) as answer:
                return answer.status

        found = await asyncio.gather(status(one.browser), status(another))
        assert sorted(found) == [303, 403]


@pytest.mark.parametrize("token", ["", "wrong", "\udcff", "é" * 43])
async def test_a_wrong_token_is_refused_and_sets_no_cookie(token: str) -> None:
    async with opened() as one:
        wrong = one.page.with_query(token=token.encode("utf-8", "replace").decode())
        async with one.browser.get(wrong, allow_redirects=False) as answer:
            assert answer.status == 403
            assert "Set-Cookie" not in answer.headers


@pytest.mark.parametrize("path", ["/", "/events", "/static/app.js", "/details/thing", "/other"])
async def test_without_the_cookie_nothing_is_answered(path: str) -> None:
    async with opened() as one, one.browser.get(one.page.with_path(path)) as answer:
        assert answer.status == 401
        assert await answer.text() == f"{server.NO_COOKIE}\n"


async def test_the_token_is_worth_nothing_on_another_path() -> None:
    async with opened() as one:
        for path in ("/events", "/details/thing"):
            url = one.page.with_path(path).with_query(one.url.query)
            async with one.browser.get(url) as answer:
                assert answer.status == 401


async def test_a_wrong_cookie_is_refused() -> None:
    async with opened() as one:
        name = f"lading-dashboard-{one.url.port}"
        for value in ("wrong", one.url.query["token"]):
            async with one.browser.get(one.page, cookies={name: value}) as answer:
                assert answer.status == 401


def test_only_the_whole_secret_is_accepted() -> None:
    one = Session()
    for given in (one.token[:-1], f"{one.token}x", one.token.swapcase(), one.cookie):
        assert not one.accepts_token(given)
    assert not one.accepts_cookie(one.cookie[:-1])
    assert one.accepts_token(one.token)
    assert one.accepts_cookie(one.cookie)


def test_the_secrets_of_two_starts_differ_and_are_not_shown() -> None:
    first, second = Session(), Session()
    secrets = {first.token, first.cookie, second.token, second.cookie}
    assert len(secrets) == 4
    assert min(map(len, secrets)) >= 43  # 32 bytes
    assert not any(one in repr(first) + repr(second) for one in secrets)


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "rebound.example.com"},
        {"Origin": "https://evil.example.com"},
        {"Origin": "null"},
    ],
)
async def test_a_request_of_a_foreign_page_is_refused_before_anything_else(
    headers: dict[str, str],
) -> None:
    async with opened() as one:
        async with one.browser.get(one.url):
            pass
        for url in (one.url, one.page, one.page.with_path("/events")):
            async with one.browser.get(url, headers=headers, allow_redirects=False) as answer:
                assert answer.status == 403
                assert "Set-Cookie" not in answer.headers


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
async def test_only_reading_is_answered(method: str) -> None:
    async with opened() as one:
        async with one.browser.get(one.url):
            pass
        async with one.browser.request(method, one.page) as answer:
            assert answer.status == 405


async def test_a_plan_is_made_of_what_the_page_sends() -> None:
    async with opened() as one:
        async with one.browser.get(one.url):
            pass
        plan = one.page.with_path("/plans/thing")
        async with one.browser.post(plan, data=b"sets", headers=one.origin) as answer:
            assert await answer.json() == {"bytes": 4}
        async with one.browser.post(plan, data=b"bad", headers=one.origin) as answer:
            assert answer.status == 422
            text = await answer.text()
            assert "registry.example.com" in text
            assert "correct-horse" not in text
        for method in ("GET", "HEAD"):
            async with one.browser.request(method, plan) as answer:
                assert answer.status == 405


@pytest.mark.parametrize(
    "headers",
    [{}, {"Origin": "null"}, {"Origin": "http://evil.example.com"}, {"Origin": "http://127.0.0.1"}],
    ids=["none", "null", "foreign", "another port"],
)
async def test_a_plan_is_made_for_the_page_of_this_server_only(headers: dict[str, str]) -> None:
    async with opened() as one:
        async with one.browser.get(one.url):
            pass
        plan = one.page.with_path("/plans/thing")
        async with one.browser.post(plan, data=b"sets", headers=headers) as answer:
            assert answer.status == 403
            assert "bytes" not in await answer.text()


async def test_a_plan_needs_the_cookie() -> None:
    async with opened() as one:
        plan = one.page.with_path("/plans/thing")
        async with one.browser.post(plan, data=b"sets", headers=one.origin) as answer:
            assert answer.status == 401


async def test_what_is_planned_has_a_limit() -> None:
    async with opened() as one:
        async with one.browser.get(one.url):
            pass
        plan = one.page.with_path("/plans/thing")
        for size, status in ((server.PLANNED_BYTES_MAX, 200), (server.PLANNED_BYTES_MAX + 1, 413)):
            body = io.BytesIO(b"x" * size)
            async with one.browser.post(plan, data=body, headers=one.origin) as answer:
                assert answer.status == status


@pytest.mark.parametrize("path", ["/", "/events", "/static/page.css", "/details/thing", "/other"])
async def test_every_answer_has_the_headers(path: str) -> None:
    async with opened() as one:
        for url in (one.url, one.page.with_path(path)):
            async with one.browser.get(url, allow_redirects=False) as answer:
                policy = answer.headers["Content-Security-Policy"]
                assert policy.startswith("default-src 'none'; ")
                assert "frame-ancestors 'none'" in policy
                assert "unsafe" not in policy
                for part in ("base-uri", "form-action", "trusted-types"):
                    assert f"{part} 'none'" in policy
                assert "require-trusted-types-for 'script'" in policy
                assert answer.headers["X-Frame-Options"] == "DENY"
                assert answer.headers["Cross-Origin-Opener-Policy"] == "same-origin"
                assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
                assert answer.headers["X-Content-Type-Options"] == "nosniff"
                assert answer.headers["Referrer-Policy"] == "no-referrer"
                assert answer.headers["Cache-Control"] == "no-store"


async def test_details_are_answered_as_json_and_errors_as_sentences() -> None:
    async with opened() as one:
        async with one.browser.get(one.url):
            pass
        details = one.page.with_path("/details/thing")
        async with one.browser.get(details.with_query(name="a")) as answer:
            assert await answer.json() == {"name": "a"}
        async with one.browser.get(details.with_query(name="nobody")) as answer:
            assert (answer.status, await answer.text()) == (404, "There is no nobody.\n")


async def test_changes_are_sent_as_they_come_and_the_stop_ends_them() -> None:
    async with opened() as one:
        async with one.browser.get(one.url):
            pass
        async with one.browser.get(one.page.with_path("/events")) as events:
            assert await events.content.readline() == b"event: snapshot\n"
            await events.content.readuntil(b"\n\n")
            one.hub.put("nodes", "a", 1)
            one.hub.publish()
            assert await events.content.readline() == b"event: delta\n"
