"""Decides once whether to create the first ImagePruner, and whether suspended. Pure.

In a new cluster it runs daily. In a cluster that is older than its pruner it is suspended, and an
alert reminds of it. An existing ImagePruner does not change, and a deleted one stays deleted.
"""

from collections.abc import Iterator
from datetime import datetime

from lading.api.definitions import OWNER, OWNER_LABEL
from lading.api.imageregistry import StoredImagePruner
from lading.pruning.operator.types import (
    ClusterHistory,
    CreateImagePruner,
    DecisionReason,
    ObservedPruner,
    PrunerSettings,
    RecordDecision,
)

DECISION_ANNOTATION = "lading.dev/image-pruner-decision"


def decide(
    observed: ObservedPruner, settings: PrunerSettings, now: datetime
) -> Iterator[CreateImagePruner | RecordDecision]:
    if observed.decision is not None:
        return
    if observed.pruner is not None:
        found = _recorded(observed.pruner)
        yield RecordDecision(
            namespace=observed.namespace, decision=found, because="an ImagePruner exists"
        )
        return
    why = _why_upgraded(observed.history, settings, now)
    decision = DecisionReason.UPGRADED if why else DecisionReason.NEW_CLUSTER
    because = why or "the cluster is new"
    yield CreateImagePruner(suspend=bool(why), because=because)
    yield RecordDecision(namespace=observed.namespace, decision=decision, because=because)


def _recorded(pruner: StoredImagePruner) -> DecisionReason:
    """Lading's ImagePruner has its decision as an annotation, if the record was not written."""
    metadata = pruner.metadata
    text = metadata.annotations.get(DECISION_ANNOTATION, "")
    is_known = metadata.labels.get(OWNER_LABEL) == OWNER and text in set(DecisionReason)
    return DecisionReason(text) if is_known else DecisionReason.EXISTING


def _why_upgraded(history: ClusterHistory, settings: PrunerSettings, now: datetime) -> str:
    """Empty for a new cluster."""
    age_max = settings.installation_age_max
    if history.openshift_versions > 1:
        return f"this OpenShift had {history.openshift_versions} versions"
    first = history.first_start
    if first is not None and now - first > age_max:
        return f"Lading has run here since {first:%Y-%m-%d}, without a pruner"
    others, own = history.other_kinds_since, history.pruner_kind_since
    if others is not None and own is not None and own - others > age_max:
        return f"Lading was installed here on {others:%Y-%m-%d}, without a pruner"
    return ""
