"""events.k8s.io: what happened to an object, for its users."""

from lading.kernel.objects import Model, Object, Resource


class ObjectReference(Model, frozen=True, kw_only=True):
    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""


class EventSeries(Model, frozen=True, kw_only=True):
    count: int
    last_observed_time: str


class Event(Object, frozen=True, kw_only=True):
    event_time: str | None = None
    reporting_controller: str = ""
    reporting_instance: str = ""
    type: str = ""
    reason: str = ""
    action: str = ""
    note: str = ""
    regarding: ObjectReference = ObjectReference()
    series: EventSeries | None = None


EVENTS = Resource(
    group="events.k8s.io",
    version="v1",
    kind="Event",
    plural="events",
    namespaced=True,
    type=Event,
)
