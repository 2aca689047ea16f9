"""Objects that keep or break the rules and limits of our own definitions, one case per sentence.

`$name` stands for a name that the test makes up. A case without `breaks` must be accepted.
"""

from dataclasses import dataclass, field
from typing import Any

from lading.api.imageregistry import NAME as PRUNER_NAME
from lading.api.longhorn import SETTING_NAME
from tests.conformance.kube.api import Document

GROUP = "machineconfiguration.openshift.io"
HEX = "0123456789abcdef" * 4
DIGEST_RULE = "must end with a valid '@sha256:<digest>' suffix"
NAME_RULE = "the OCI Image name must be host[:port]/path"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    sentence: str
    plural: str
    spec: Document | None = None
    """None for a kind without a spec."""
    fields: Document = field(default_factory=dict)
    """Beside the spec."""
    statuses: tuple[Document, ...] = ()
    """WriteHistory one after the other; only the last one may be refused."""
    breaks: str = ""
    """A part of the message of the rule that refuses the last write."""
    name: str = "$name"


def image(sentence: str, name: str, breaks: str = "") -> Case:
    return Case(
        sentence=sentence,
        plural="pinnedimagesets",
        spec={"pinnedImages": [{"name": name}]},
        breaks=breaks,
    )


def image_of_length(characters: int) -> str:
    host, digest = "quay.io/", f"@sha256:{HEX}"
    return f"{host}{'a' * (characters - len(host) - len(digest))}{digest}"


def set_of(sentence: str, count: int, breaks: str = "") -> Case:
    images = [{"name": f"quay.io/app-{number}@sha256:{HEX}"} for number in range(count)]
    return Case(
        sentence=sentence,
        plural="pinnedimagesets",
        spec={"pinnedImages": images},
        breaks=breaks,
    )


def pool_with_sets(sentence: str, count: int, breaks: str = "") -> Case:
    entries = [{"name": f"set-{number}"} for number in range(count)]
    return Case(
        sentence=sentence,
        plural="machineconfigpools",
        spec={"pinnedImageSets": entries},
        breaks=breaks,
    )


def node_with_sets(sentence: str, count: int, breaks: str = "") -> Case:
    entries = [{"name": f"set-{number}"} for number in range(count)]
    return Case(
        sentence=sentence,
        plural="machineconfignodes",
        spec={"node": {"name": "$name"}, "pool": {"name": "worker"}},
        statuses=({"pinnedImageSets": entries},),
        breaks=breaks,
    )


def node(sentence: str, breaks: str = "", **pinned: int) -> Case:
    return Case(
        sentence=sentence,
        plural="machineconfignodes",
        spec={"node": {"name": "$name"}, "pool": {"name": "worker"}},
        statuses=({"pinnedImageSets": [{"name": "set", **pinned}]},),
        breaks=breaks,
    )


def pool(sentence: str, *changes: dict[str, int], breaks: str = "") -> Case:
    counts = {
        "machineCount": 3,
        "updatedMachineCount": 2,
        "readyMachineCount": 2,
        "availableMachineCount": 2,
        "unavailableMachineCount": 1,
    }
    entries = [{"poolSynchronizerType": "PinnedImageSets", **counts, **each} for each in changes]
    return Case(
        sentence=sentence,
        plural="machineconfigpools",
        spec={},
        statuses=tuple({"poolSynchronizersStatus": [entry]} for entry in entries),
        breaks=breaks,
    )


def boot_images(sentence: str, breaks: str = "", name: str = "default", **config: Any) -> Case:
    return Case(
        sentence=sentence,
        plural="machineconfigurations",
        name=name,
        spec={"managedBootImageConfig": config},
        breaks=breaks,
    )


def machine_managers(sentence: str, breaks: str = "", **selection: Any) -> Case:
    manager = {"resource": "machinesets", "apiGroup": "machine.openshift.io"}
    return Case(
        sentence=sentence,
        plural="machineconfigurations",
        name="cluster",
        spec={"managedBootImages": {"machineManagers": [{**manager, "selection": selection}]}},
        breaks=breaks,
    )


SELECTOR = {"matchLabels": {"zone": "a"}}
SELECTOR_RULE = "matchSelector is required with mode MatchSelector and not allowed with other modes"
PARTIAL_RULE = "partial is required with mode Partial and not allowed with other modes"
URL_RULE = "must be an image reference"
LONG_VALUE = '{"v1": "' + "a" * 100 + '"}'
ONE_URL_RULE = "exactly one of imageURL and instanceManagerImage must be set"


def held_image(sentence: str, breaks: str = "", **spec: str) -> Case:
    return Case(sentence=sentence, plural="images", spec=spec, breaks=breaks)


def setting(sentence: str, value: str, breaks: str = "", name: str = SETTING_NAME) -> Case:
    fields = {"value": value}
    return Case(sentence=sentence, plural="settings", fields=fields, breaks=breaks, name=name)


def pruner(sentence: str, breaks: str = "", name: str = PRUNER_NAME, **spec: Any) -> Case:
    return Case(sentence=sentence, plural="imagepruners", spec=spec, breaks=breaks, name=name)


def pruned(sentence: str, breaks: str = "", **fields: Any) -> Case:
    registry = {"name": "main", "url": "registry.example.com:5000", **fields}
    return pruner(sentence, breaks, registries=[registry])


REGISTRY = {"name": "main", "url": "registry.example.com"}
SCHEDULE_RULE = "must be five fields of a cron schedule"
DURATION_RULE = "must be a duration that is not negative"
PRUNERS = (
    pruner("a pruner with every default"),
    pruner("a pruner of another name", "a cluster has one ImagePruner", name="$name"),
    pruner("a schedule of five fields", schedule="*/5 1,3 ? jan-MAR mon"),
    pruner("a schedule by a word", schedule="@daily"),
    pruner("a schedule by a duration", schedule="@every 1h30m"),
    pruner("a schedule of six fields", SCHEDULE_RULE, schedule="0 0 * * * *"),
    pruner("a schedule with a time zone", SCHEDULE_RULE, schedule="TZ=UTC 0 0 * * *"),
    pruner("a schedule of no known word", SCHEDULE_RULE, schedule="@fortnightly"),
    pruner("an age as a duration", keepYoungerThan="1h30m"),
    pruner("an age of zero", keepYoungerThan="0s", keepTagRevisions=0),
    pruner("an age in nanoseconds", keepYoungerThan=3_600_000_000_000),
    pruner("a negative age", DURATION_RULE, keepYoungerThan="-1h"),
    pruner("a negative number of nanoseconds", DURATION_RULE, keepYoungerThan=-1),
    pruner("an age of no unit", DURATION_RULE, keepYoungerThan="60"),
    pruner("an age in OpenShift's form", keepYoungerThanDuration="60m"),
    pruner("a bad age in OpenShift's form", DURATION_RULE, keepYoungerThanDuration="1 hour"),
    pruner("fewer revisions than none", "greater than or equal to 0", keepTagRevisions=-1),
    pruner("a deadline that is too short", "equal to 10", startingDeadlineSeconds=9),
    pruner("a history of none", "equal to 1", history={"successfulJobsHistoryLimit": 0}),
    pruner("a history of no failures", "equal to 1", history={"failedJobsHistoryLimit": 0}),
    pruner("a flat history of none", "equal to 1", successfulJobsHistoryLimit=0),
    pruner("a flat history of no failures", "equal to 1", failedJobsHistoryLimit=0),
    pruner("a deadline that is long", startingDeadlineSeconds=2**62),
    pruner("an age of 292 years", keepYoungerThan=2**63 - 1),
    pruner("an age that is a list", "must be", keepYoungerThan=["1h"]),
    pruner("a schedule of two lines", SCHEDULE_RULE, schedule="0 0 * * *\n0 1 * * *"),
    pruner("tolerations as a map", "must be of type array", tolerations={}),
    pruner("a level of logs", logLevel="Debug", ignoreInvalidImageReferences=True),
    pruner("an unknown level of logs", "Unsupported value", logLevel="Loud"),
    pruned("a registry"),
    pruner("two registries of one name", "Duplicate value", registries=[REGISTRY, REGISTRY]),
    pruner(
        "more registries than can be pruned",
        "must have at most 8 items",
        registries=[{**REGISTRY, "name": f"r{number}"} for number in range(9)],
    ),
    pruned("a registry by its URL", url="http://10.0.0.1:5000"),
    pruned("a registry with a path", "must be host[:port]", url="registry.example.com/team"),
    pruned("a registry of the reserved name", "imagestreams is reserved", name="imagestreams"),
    pruned("a registry by its storage", storage={"url": "s3://bucket/prefix"}),
    pruned("a storage without a scheme", "must begin with", storage={"url": "/var/lib"}),
    pruned("a storage on a claim", storage={"url": "file:///data", "claimName": "data"}),
    pruned("a bucket without a claim", storage={"url": "s3://bucket", "claimName": ""}),
    pruned(
        "a bucket on a claim",
        "claimName requires a url that begins with file:///",
        storage={"url": "s3://bucket", "claimName": "data"},
    ),
    pruned("a trash for a day", trash={"period": "24h"}),
    pruned("a trash for no time", DURATION_RULE, trash={"period": "soon"}),
    pruned("a sweep of its storage", storage={"url": "gs://bucket"}, sweep={}),
    pruned("a sweep without a storage", "sweep requires storage", sweep={"grace": "1h"}),
    pruned("a bad grace", DURATION_RULE, storage={"url": "gs://b"}, sweep={"grace": "1 day"}),
    pruned(
        "a replica with a path",
        "must be host[:port]",
        storage={"url": "gs://b"},
        sweep={"replicas": ["registry.example.com/v2"]},
    ),
)
CASES = (
    *PRUNERS,
    held_image("a tag is held", imageURL="registry.example.com:5000/team/app:1.0"),
    held_image("a short name is held", imageURL="nginx"),
    held_image("a digest is held", instanceManagerImage=f"quay.io/a/b@sha256:{HEX}"),
    held_image("an image needs a URL", ONE_URL_RULE),
    held_image("one URL is enough", ONE_URL_RULE, imageURL="a", instanceManagerImage="a"),
    held_image("a URL with a space", URL_RULE, imageURL="registry.example.com/a b"),
    held_image("a URL with a scheme", URL_RULE, instanceManagerImage="https://quay.io/a"),
    setting("pre-pulling is on", "true"),
    setting("pre-pulling is off", "false"),
    setting("a setting of another value", "yes", "value must be the string 'true' or 'false'"),
    setting("a setting of Longhorn with a value of its own", LONG_VALUE, name="$name"),
    boot_images("all machine sets are enrolled", mode="Enabled"),
    boot_images("those of a label are enrolled", mode="MatchSelector", matchSelector=SELECTOR),
    boot_images("a mode that selects needs a selector", SELECTOR_RULE, mode="MatchSelector"),
    boot_images(
        "a mode for all has no selector", SELECTOR_RULE, mode="Enabled", matchSelector=SELECTOR
    ),
    boot_images(
        "a selector that is empty is refused",
        "matchSelector must not be empty",
        mode="MatchSelector",
        matchSelector={},
    ),
    boot_images(
        "a configuration of another name is refused",
        "the object must be named default or cluster",
        name="$name",
        mode="Enabled",
    ),
    machine_managers("machine sets are enrolled in OpenShift's form", mode="All"),
    machine_managers("a part of them needs to be named", PARTIAL_RULE, mode="Partial"),
    machine_managers("none of them has no part", PARTIAL_RULE, mode="None", partial={}),
    image("an image by digest is taken", f"quay.io/org/app@sha256:{HEX}"),
    image("many path levels are taken", f"registry.example.com/a/b/c/d-e_f@sha256:{HEX}"),
    image("a port is taken", f"registry.example.com:5000/app@sha256:{HEX}"),
    image("a short host with a port is taken", f"registry:5000/app@sha256:{HEX}"),
    image("localhost is taken", f"localhost/app@sha256:{HEX}"),
    image("an IPv4 address is taken", f"10.0.0.1:5000/app@sha256:{HEX}"),
    image("an IPv6 address is taken", f"[2001:db8::1]:5000/app@sha256:{HEX}"),
    image("a tag without a digest is refused", "quay.io/org/app:latest", DIGEST_RULE),
    image("a digest that is too short is refused", f"quay.io/app@sha256:{HEX[1:]}", DIGEST_RULE),
    image("a digest that is too long is refused", f"quay.io/app@sha256:{HEX}0", DIGEST_RULE),
    image("a digest in capitals is refused", f"quay.io/app@sha256:{HEX.upper()}", DIGEST_RULE),
    image("another algorithm is refused", f"quay.io/app@sha512:{HEX}{HEX}", DIGEST_RULE),
    image("two digests are refused", f"quay.io/app@sha256:{HEX}@sha256:{HEX}", DIGEST_RULE),
    image("a name without a host is refused", f"busybox@sha256:{HEX}", NAME_RULE),
    image("a host that could be a path is refused", f"library/busybox@sha256:{HEX}", NAME_RULE),
    image("a tag beside the digest is refused", f"quay.io/app:1@sha256:{HEX}", NAME_RULE),
    image("capitals in the path are refused", f"quay.io/Org/app@sha256:{HEX}", NAME_RULE),
    image("an empty path part is refused", f"quay.io//app@sha256:{HEX}", NAME_RULE),
    image("a scheme is refused", f"https://quay.io/app@sha256:{HEX}", NAME_RULE),
    image("a host alone is refused", f"quay.io@sha256:{HEX}", NAME_RULE),
    image("a name of 447 characters is taken", image_of_length(447)),
    image("a name of 448 characters is refused", image_of_length(448), "447 bytes"),
    set_of("a set of 500 images is taken", 500),
    set_of("a set of 501 images is refused", 501, "at most 500 items"),
    set_of("an empty set is refused", 0, "at least 1 items"),
    pool_with_sets("a pool with 100 sets is taken", 100),
    pool_with_sets("a pool with 101 sets is refused", 101, "at most 100 items"),
    node_with_sets("a node with 100 sets is taken", 100),
    node_with_sets("a node with 101 sets is refused", 101, "at most 100 items"),
    Case(
        sentence="a node object is named after its node",
        plural="machineconfignodes",
        spec={"node": {"name": "other"}, "pool": {"name": "worker"}},
        breaks="spec.node.name should match metadata.name",
    ),
    node("a node may be behind", currentGeneration=1, desiredGeneration=2),
    node("a node may have arrived", currentGeneration=2, desiredGeneration=2),
    node("a node may have failed", desiredGeneration=2, lastFailedGeneration=2),
    node(
        "a node cannot be ahead of what is desired",
        "desired generation must be greater than or equal to the current generation",
        currentGeneration=3,
        desiredGeneration=2,
    ),
    node(
        "a node cannot have failed at what was never desired",
        "desired generation must be greater than or equal to the last failed generation",
        lastFailedGeneration=3,
        desiredGeneration=2,
    ),
    node(
        "a failure needs something that was desired",
        "desired generation must be defined if last failed generation is defined",
        lastFailedGeneration=1,
    ),
    pool("counts that add up are taken", {}),
    pool("an observed generation may grow", {"observedGeneration": 1}, {"observedGeneration": 4}),
    pool(
        "an observed generation may start over",
        {"observedGeneration": 4},
        {"observedGeneration": 0},
    ),
    pool(
        "an observed generation may not go back",
        {"observedGeneration": 4},
        {"observedGeneration": 3},
        breaks="observedGeneration must not move backwards except to zero",
    ),
    pool(
        "more updated than there are",
        {"updatedMachineCount": 4},
        breaks="machineCount must be greater than or equal to updatedMachineCount",
    ),
    pool(
        "more available than there are",
        {"availableMachineCount": 4},
        breaks="machineCount must be greater than or equal to availableMachineCount",
    ),
    pool(
        "more unavailable than there are",
        {"unavailableMachineCount": 4},
        breaks="machineCount must be greater than or equal to unavailableMachineCount",
    ),
    pool(
        "more ready than there are",
        {"readyMachineCount": 4},
        breaks="machineCount must be greater than or equal to readyMachineCount",
    ),
    pool(
        "more ready than available",
        {"readyMachineCount": 3},
        breaks="availableMachineCount must be greater than or equal to readyMachineCount",
    ),
)
