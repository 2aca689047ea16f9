"""The HTTP server of the dashboard: on loopback, for one person, for reading only.

Every request passes the same checks in this order: a name of this server, a page of this server,
a method that changes nothing, the cookie. Only then a handler runs. A POST is answered only where
a plan is made of what is sent, and only when a page of this server sends it.
"""

import asyncio
import hmac
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from importlib import resources
from typing import Any

import msgspec
from aiohttp import web

from lading.kernel.errors import Malformed
from lading.kernel.host_guard import HostGuard
from lading.kernel.values import Redacted
from lading.web.details import NotPlanned, NotThere
from lading.web.hub import Hub
from lading.web.views import wording

HOST = "127.0.0.1"
ALIVE_SECONDS = 15.0  # so that a page that is gone is noticed
SHUTDOWN_SECONDS_MAX = 1.0
PLANNED_BYTES_MAX = 1 << 20  # 16 times the largest PinnedImageSet: 500 names of 128 characters
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
NO_COOKIE = (
    "Open the URL that `lading dashboard` or `lading up` printed. It changes at each start and "
    "opens the page once; run `lading dashboard` for a new one."
)
USED = (
    "This URL has been used: it opens the page once, in one browser. In that browser, open {page} "
    "without the token. For another browser, run `lading dashboard`; it prints a new URL."
)
NOT_OPENED = "The URL opens the page in a browser. A preview or a prefetch does not use it up."

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Answers = Mapping[str, Callable[[dict[str, str]], Awaitable[Any]]]
"""Path -> what answers it as JSON, from the parameters of the request."""
Plans = Mapping[str, Callable[[bytes], Awaitable[Any]]]
"""Path -> what plans the body of a POST, answers with JSON, and changes nothing."""


_SECRET_BYTES = 32


def _new_secret() -> str:
    return secrets.token_urlsafe(_SECRET_BYTES)


class Session(Redacted, frozen=True):
    token: str = msgspec.field(default_factory=_new_secret)
    cookie: str = msgspec.field(default_factory=_new_secret)

    def accepts_token(self, given: str) -> bool:
        return _equal(given, self.token)

    def accepts_cookie(self, given: str) -> bool:
        return _equal(given, self.cookie)


def _equal(given: str, wanted: str) -> bool:
    """Compares in constant time."""
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), wanted.encode())


@asynccontextmanager
async def serve(hub: Hub, answers: Answers, plans: Plans, *, port: int = 0) -> AsyncIterator[str]:
    """Serves while the block runs and yields the URL with the token; port 0 takes a free one."""
    session = Session()
    runner = web.AppRunner(
        make_app(hub, answers, plans, session),
        access_log=None,
        shutdown_timeout=SHUTDOWN_SECONDS_MAX,
    )
    await runner.setup()
    try:
        site = web.TCPSite(runner, HOST, port)
        await site.start()
        yield f"http://{HOST}:{runner.addresses[0][1]}/?token={session.token}"
    finally:
        await runner.cleanup()


def make_app(hub: Hub, answers: Answers, plans: Plans, session: Session) -> web.Application:
    app = web.Application(
        middlewares=[_checked(HostGuard.of(()), session, frozenset(plans))],
        client_max_size=PLANNED_BYTES_MAX,
    )
    app.on_response_prepare.append(_add_headers)
    stopping = asyncio.Event()

    async def stop(_app: web.Application) -> None:
        stopping.set()

    app.on_shutdown.append(stop)
    app.router.add_get("/", _page(session))
    app.router.add_get("/events", _events(hub, stopping))
    for name, content in _static_files().items():
        app.router.add_get(f"/static/{name}", _static(name, content))
    for path, answer in answers.items():
        app.router.add_get(path, _json(answer))
    for path, plan in plans.items():
        app.router.add_post(path, _planned(plan))
    return app


def _checked(guard: HostGuard, session: Session, planned: frozenset[str]) -> Any:
    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        headers = request.headers
        refusal = guard.refusal(host=headers.get("Host"), origin=headers.get("Origin"))
        if refusal:
            return _sentence(403, refusal)
        if request.method == "POST" and request.path in planned:
            if headers.get("Origin") is None:
                return _sentence(403, "A plan is made only for the page of this server.")
        elif request.method not in ("GET", "HEAD"):
            return web.Response(status=405, headers={"Allow": "GET, HEAD"})
        is_exchange = request.path == "/" and "token" in request.query
        if not is_exchange and not session.accepts_cookie(_cookie(request)):
            return _sentence(401, NO_COOKIE)
        return await handler(request)

    return check


def _cookie_name(request: web.Request) -> str:
    """The name has the port, because a browser sends cookies to all ports of a host."""
    assert request.transport is not None
    return f"lading-dashboard-{request.transport.get_extra_info('sockname')[1]}"


def _cookie(request: web.Request) -> str:
    return request.cookies.get(_cookie_name(request), "")


def _is_navigation(request: web.Request) -> bool:
    """Refuses a prefetch of the browser and a preview of the link, which would use up the token."""
    headers = request.headers
    purposes = (headers.get(name, "") for name in ("Sec-Purpose", "Purpose", "X-Moz"))
    return (
        request.method == "GET"
        and not any("prefetch" in purpose or "prerender" in purpose for purpose in purposes)
        and headers.get("Sec-Fetch-Mode", "navigate") == "navigate"
        and headers.get("Sec-Fetch-Dest", "document") == "document"
    )


def _page(session: Session) -> Handler:
    content = _static_files()["index.html"]
    is_used = False

    async def answer(request: web.Request) -> web.StreamResponse:
        nonlocal is_used
        token = request.query.get("token")
        if token is None:
            return web.Response(body=content, headers={"Content-Type": _TYPES["html"]})
        found = web.Response(status=303, headers={"Location": "/"})
        if session.accepts_cookie(_cookie(request)):
            return found
        if not session.accepts_token(token):
            return _sentence(403, f"The token is wrong. {NO_COOKIE}")
        if not _is_navigation(request):
            return _sentence(403, NOT_OPENED)
        if is_used:
            return _sentence(403, USED.format(page=request.url.origin()))
        is_used = True
        found.set_cookie(
            _cookie_name(request), session.cookie, httponly=True, samesite="Strict", path="/"
        )
        return found

    return answer


def _events(hub: Hub, stopping: asyncio.Event) -> Handler:
    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        stopped = asyncio.ensure_future(stopping.wait())
        with hub.subscribed() as page, suppress(ConnectionError):
            try:
                while not stopping.is_set():
                    waiting = asyncio.ensure_future(page.wait())
                    await asyncio.wait(
                        (waiting, stopped),
                        timeout=ALIVE_SECONDS,
                        return_when=asyncio.FIRST_COMPLETED,
                    )
                    waiting.cancel()
                    await response.write(hub.text_for(page) or b": alive\n\n")
            finally:
                stopped.cancel()
        return response

    return answer


def _json(answer: Callable[[dict[str, str]], Awaitable[Any]]) -> Handler:
    async def respond(request: web.Request) -> web.StreamResponse:
        return await _answered(answer(dict(request.query)))

    return respond


def _planned(plan: Callable[[bytes], Awaitable[Any]]) -> Handler:
    async def respond(request: web.Request) -> web.StreamResponse:
        try:
            body = await request.read()
        except web.HTTPRequestEntityTooLarge:
            return _sentence(413, f"The files are larger than {PLANNED_BYTES_MAX >> 10} KiB.")
        return await _answered(plan(body))

    return respond


async def _answered(answer: Awaitable[Any]) -> web.Response:
    try:
        value = await answer
    except NotThere as error:
        return _sentence(404, str(error))
    except (Malformed, NotPlanned, OSError) as error:
        return _sentence(422, wording.lines(str(error)))
    return web.Response(body=msgspec.json.encode(value), content_type="application/json")


def _static(name: str, content: bytes) -> Handler:
    headers = {"Content-Type": _TYPES[name.rpartition(".")[2]]}

    async def answer(_request: web.Request) -> web.StreamResponse:
        return web.Response(body=content, headers=headers)

    return answer


def _static_files() -> dict[str, bytes]:
    folder = resources.files("lading.web").joinpath("static")
    return {one.name: one.read_bytes() for one in folder.iterdir() if one.is_file()}


def _sentence(status: int, text: str) -> web.Response:
    return web.Response(status=status, text=f"{text}\n")


async def _add_headers(_request: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(HEADERS)
