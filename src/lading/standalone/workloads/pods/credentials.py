"""The pull secrets of pods on a standalone node."""

import msgspec

from lading.ports.kube import Kube
from lading.ports.registry import Credential
from lading.standalone.workloads.kinds import Pod
from lading.wiring import pod_credentials
from lading.wiring.registries import Registries


class PullSecrets(msgspec.Struct, frozen=True, kw_only=True):
    """A `PodCredentials`."""

    kube: Kube
    registries: Registries

    async def of(self, pod: Pod, image: str) -> tuple[Credential, ...]:
        return await pod_credentials.find(
            self.kube,
            self.registries,
            namespace=pod.metadata.namespace,
            secrets=[one.name for one in pod.spec.image_pull_secrets],
            image=image,
        )
