"""The server without sockets: a function from a request to a response, with state.

A `Core` is an `HttpTransport`, so a client in the same process talks to it as to any API server. It
must live in one event loop; no request waits for another inside it.
"""

import logging
import uuid
from collections.abc import Callable, Iterable, Mapping

import msgspec

from lading.embedded.kube import (
    answers,
    authentication,
    bodies,
    builtins,
    definitions,
    metadata,
    node_proxy,
    requests,
    status,
)
from lading.embedded.kube.authentication import User
from lading.embedded.kube.collector import Collector
from lading.embedded.kube.discovery import Pages
from lading.embedded.kube.events import EventExpiry
from lading.embedded.kube.node_proxy import NO_KUBELETS, Kubelets
from lading.embedded.kube.requests import Call
from lading.embedded.kube.resources import Registry
from lading.embedded.kube.state import State, read
from lading.embedded.kube.storage.memory import Change, MemoryStorage, NotStored
from lading.embedded.kube.verbs import lists, objects, patch, watch
from lading.ports.clock import Clock
from lading.ports.http import Request, Response

_log = logging.getLogger(__name__)


def random_uid() -> str:
    return str(uuid.uuid4())


class Core:
    def __init__(
        self,
        storage: MemoryStorage,
        clock: Clock,
        *,
        tokens: Mapping[str, User],
        kubelets: Kubelets = NO_KUBELETS,
        uid_source: Callable[[], str] = random_uid,
    ) -> None:
        registry = Registry(builtins.kinds())
        self._state = State(
            storage=storage,
            registry=registry,
            clock=clock,
            uid_source=uid_source,
            kubelets=kubelets,
        )
        self._authenticator = authentication.Authenticator(tokens)
        self._kubelets = kubelets
        self._wakeups = watch.Wakeups()
        self._pages = Pages(registry)
        self._expiry = EventExpiry(storage, clock)
        self._serve_definitions()
        self._collector = Collector(self._state)
        storage.subscribe(self._follow)
        metadata.ensure_initial(self._state)

    async def __call__(self, request: Request) -> Response:
        try:
            user = self._authenticator.user(request.path, request.headers)
            proxied = await node_proxy.forwarded(request, self._kubelets)
            return proxied or self._answer(request, user)
        except status.ApiError as error:
            return _refusal(error)
        except requests.NoSuchPath:
            headers = {"content-type": "text/plain; charset=utf-8"}
            return Response(status=404, headers=headers, body=b"404 page not found\n")
        except NotStored as error:
            return _refusal(status.internal(str(error)))
        except Exception as error:  # noqa: BLE001 - one request may not take the server down
            _log.exception("%s %s failed", request.method, request.path)
            return _refusal(status.internal(f"{type(error).__name__}; see the server's log"))

    def refusal(self, request: Request) -> Response | None:
        """The answer to a request without a valid token, which needs no body."""
        try:
            self._authenticator.user(request.path, request.headers)
        except status.ApiError as error:
            return _refusal(error)
        return None

    async def close(self) -> None:
        """Ends the watches and the collector; the storage is its opener's to close."""
        self._wakeups.close()
        await self._collector.close()

    def _answer(self, request: Request, user: User) -> Response:
        if len(request.body) > bodies.BODY_BYTES_MAX:
            raise status.too_large(bodies.BODY_BYTES_MAX)
        self._collector.start()
        if request.method == "GET" and (page := self._pages.page(request)):
            return page
        call = Call(
            target=requests.target(request.path, self._state.registry),
            query=dict(reversed(request.query)),  # the first value of a repeated option counts
            headers=request.headers,
            body=request.body,
            user=authentication.impersonated(user, request.headers),
        )
        try:
            return self._dispatch(request.method, call)
        except status.ApiError as error:
            return _refusal(error, call.warnings)

    def _dispatch(self, method: str, call: Call) -> Response:
        state, one = self._state, bool(call.target.name)
        match method, one:
            case "POST", False if call.resource.is_review:
                return objects.review(state, call)
            case _ if call.resource.is_review:
                raise status.method_not_allowed()
            case "GET", _ if call.flag("watch"):
                return watch.watch(state, self._wakeups, call)
            case "GET", True:
                return objects.get(state, call)
            case "GET", False:
                return lists.list_objects(state, call)
            case "POST", False if "create" in call.resource.verbs:
                return objects.create(state, call)
            case "PUT", True:
                return objects.update(state, call)
            case "PATCH", True:
                return patch.patch(state, call)
            case "DELETE", True if not call.target.subresource:
                return objects.delete(state, call)
            case "DELETE", False if objects.may_delete_collection(call):
                return objects.delete_collection(state, call)
            case _:
                raise status.method_not_allowed()

    def _follow(self, change: Change) -> None:
        """Everything that must happen once a change is safe."""
        if change.record.key.resource == definitions.STORAGE_NAME:
            self._serve(change)
        self._collector.changed(change)
        self._wakeups.changed(change)
        self._expiry.changed(change)

    def _serve_definitions(self) -> None:
        state = self._state
        resource = state.registry.of_storage(definitions.STORAGE_NAME)
        assert resource is not None, "CustomResourceDefinition is a built-in kind"
        for document in state.every(resource):
            revision = int(document["metadata"]["resourceVersion"])
            name = document["metadata"]["name"]
            state.registry.replace_custom(name, definitions.served(document, revision))

    def _serve(self, change: Change) -> None:
        resource = self._state.registry.of_storage(definitions.STORAGE_NAME)
        assert resource is not None, "CustomResourceDefinition is a built-in kind"
        document = read(resource, change.record)
        served = () if change.deleted else definitions.served(document, change.revision)
        self._state.registry.replace_custom(change.record.key.name, served)


def _refusal(error: status.ApiError, warnings: Iterable[str] = ()) -> Response:
    headers = dict(answers.headers(warnings))
    retry_after = error.status.get("details", {}).get("retryAfterSeconds")
    if retry_after:
        headers["retry-after"] = str(retry_after)
    return Response(status=error.code, headers=headers, body=msgspec.json.encode(error.status))
