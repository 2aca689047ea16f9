"""config.openshift.io: what OpenShift knows about the cluster, cut down to what Lading reads."""

from lading.kernel.objects import Model, Object, Resource

GROUP = "config.openshift.io"


class UpdateHistory(Model, frozen=True, kw_only=True):
    state: str = ""
    version: str = ""


class DesiredUpdate(Model, frozen=True, kw_only=True):
    architecture: str = ""


class ClusterVersionStatus(Model, frozen=True, kw_only=True):
    history: tuple[UpdateHistory, ...] | None = ()
    """The newest comes first."""
    desired: DesiredUpdate | None = None


class ClusterVersion(Object, frozen=True, kw_only=True):
    status: ClusterVersionStatus | None = None


class AWSPlatformStatus(Model, frozen=True, kw_only=True):
    region: str = ""


class PowerVSPlatformStatus(Model, frozen=True, kw_only=True):
    region: str = ""


class PlatformStatus(Model, frozen=True, kw_only=True):
    type: str = ""
    aws: AWSPlatformStatus | None = None
    powervs: PowerVSPlatformStatus | None = None


class InfrastructureStatus(Model, frozen=True, kw_only=True):
    infrastructure_name: str = ""
    platform_status: PlatformStatus | None = None


class Infrastructure(Object, frozen=True, kw_only=True):
    status: InfrastructureStatus | None = None


CLUSTER_VERSIONS: Resource[ClusterVersion] = Resource(
    group=GROUP,
    version="v1",
    kind="ClusterVersion",
    plural="clusterversions",
    namespaced=False,
    type=ClusterVersion,
)
INFRASTRUCTURES: Resource[Infrastructure] = Resource(
    group=GROUP,
    version="v1",
    kind="Infrastructure",
    plural="infrastructures",
    namespaced=False,
    type=Infrastructure,
)
