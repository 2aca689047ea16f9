"""What this process knows about the way to hold images, beside what the caches show."""

from datetime import datetime

from lading.api.apps import DaemonSet
from lading.api.core import Secret
from lading.kernel.values import replace
from lading.ports import kube
from lading.ports.kube import Kube
from lading.prepull import hold_key, holder, observe, plan
from lading.prepull.hold_key import BadHoldKey, HoldKey
from lading.prepull.holding import Holding, HoldingWay
from lading.prepull.types import (
    Action,
    CreateDaemonSet,
    CreateHoldKey,
    ObservedPrePull,
    PrePullSettings,
    ReplaceDaemonSet,
)

DROPPED = (
    "the API server drops image volumes. Turn on its feature gate ImageVolume, and restart the"
    " controller."
)


class HoldingFacts:
    def __init__(self, api: Kube, settings: PrePullSettings, namespace: str) -> None:
        self._kube = api
        self._settings = settings
        self._namespace = namespace
        self._key: HoldKey | None = None
        self._key_unreadable = ""
        self._key_refused = ""
        self._volumes_refusal = ""
        self._without_obstacle_since: datetime | None = None
        self.holding = Holding()

    @property
    def key_problem(self) -> str:
        return self._key_unreadable or self._key_refused

    @property
    def reported(self) -> tuple[Holding, str]:
        """What the status of Images says."""
        return self.holding, self.key_problem

    async def observe(self, observed: ObservedPrePull, now: datetime) -> ObservedPrePull:
        if observed.roll_out.obstacles:
            self._without_obstacle_since = None
        elif self._without_obstacle_since is None:
            self._without_obstacle_since = now
        observed = replace(
            observed,
            volumes_refusal=self._volumes_refusal,
            without_obstacle_since=self._without_obstacle_since,
        )
        self.holding = plan.holding_of(observed, self._settings, now)
        await self._read_key(observed)
        return replace(observed, key=self._key, key_unreadable=self._key_unreadable)

    async def _read_key(self, observed: ObservedPrePull) -> None:
        """Only where it is needed and not known."""
        self._key_unreadable = ""
        is_on = plan.enablement(observed, self._settings).is_on and bool(observed.images)
        if self.holding.way is not HoldingWay.CONTAINERS or self._key is not None or not is_on:
            self._key_refused = ""
            return
        try:
            self._key = await observe.key_of_installation(self._kube, self._namespace)
        except (kube.Forbidden, BadHoldKey) as error:
            self._key_unreadable = str(error)

    def refused(self, action: Action, message: str) -> bool:
        """Whether the API server refused a write because of the way to hold images."""
        if isinstance(action, CreateHoldKey):
            self._key_refused = message
            return True
        if _wants_image_volumes(action) and ".volumes[" in message:  # before Kubernetes 1.31
            self._volumes_refusal = f"the API server refuses image volumes: {message}"
            return True
        return False

    def applied(self, action: Action, written: object) -> None:
        """An API server with the feature gate off drops image volumes, and reports nothing."""
        if isinstance(written, Secret):
            self._key = hold_key.of_secret(written)
        if _wants_image_volumes(action) and isinstance(written, DaemonSet):
            self._volumes_refusal = "" if holder.keeps_image_volumes(written.spec) else DROPPED


def _wants_image_volumes(action: Action) -> bool:
    if isinstance(action, CreateDaemonSet | ReplaceDaemonSet):
        return holder.keeps_image_volumes(action.body["spec"])
    return False
