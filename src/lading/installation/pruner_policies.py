"""The admission policies about the CronJob that prunes, and about the ImagePruner. Pure.

Two policies check the CronJob, because a policy can compare with one kind only: its image with the
controller's pods, and its mounts with the ImagePruner.
"""

from lading.api.imageregistry import GROUP, IMAGE_PRUNERS, NAME
from lading.installation import pod_policies, policies
from lading.installation.pod_policies import each_container
from lading.installation.policies import (
    OURS,
    WRITES,
    AdmissionPolicy,
    AdmissionRule,
    Check,
    Parameter,
)
from lading.pruning.operator.types import FOLDER, OBJECT_NAME, POD_LABELS, STORAGE_FOLDER

_OWNER = f"CronJob {OBJECT_NAME}"
_TEMPLATE = "object.spec.jobTemplate.spec.template"
_CRON_JOBS = AdmissionRule(group="batch", version="v1", resources=("cronjobs",), operations=WRITES)
_OPTIONS = "|".join(
    (
        *("confirm", "all", "keep-tag-revisions", "keep-younger-than", "prune-registry"),
        *("log-level", "report-to", "run-name", "source", "registry-url", "registry-name"),
        *("storage", "sweep-grace", "sweep-replica", "trash-period", "trash-repository"),
    )
)
_OLD = "allow-nothing|report-as=.*"
"""Options of an earlier release. Its controller writes them until the upgrade ends."""
_FILES = "policy|certificate-authority|other-kubeconfig"
_ARGUMENT = (
    f"^(prune|images|--(ok-if-no-registry|sweep-blobs|no-trash)|--({_OPTIONS})=.*"
    f"|--({_OLD})|--({_FILES})={FOLDER}/[a-z0-9./-]+)$"
)
"""Arguments that Lading writes. A kubeconfig may name a program, so none may be in a storage."""
_PLACE = "^--(registry-url|storage|sweep-replica)="
"""Options with the address of a registry or storage, which gets a login or is pruned."""
_VARIABLES = ("POD_NAME", "POD_NAMESPACE", "REGISTRY_AUTH_FILE")


def cron_job(namespace: str) -> AdmissionPolicy:
    return AdmissionPolicy(
        name="lading-controller-cron-job",
        rules=(_CRON_JOBS,),
        labels=OURS,
        parameter=pod_policies.own_pods(namespace),
        variables={
            **pod_policies.template_variables(_TEMPLATE),
            **pod_policies.OWN_VARIABLES,
            "claims": (
                "variables.volumes.filter(one, has(one.persistentVolumeClaim)).map(one, one.name)"
            ),
        },
        checks=(*pod_policies.restricted(_OWNER, POD_LABELS), *_pod(), *_containers()),
    )


def _pod() -> tuple[Check, ...]:
    return (
        Check(
            expression=f'variables.pod.?serviceAccountName.orValue("") == "{OBJECT_NAME}"',
            message=f"{_OWNER}: its pods must have the account {OBJECT_NAME}",
        ),
        Check(
            expression=policies.empty("variables.pod", "initContainers", "imagePullSecrets"),
            message=f"{_OWNER}: its pods must not have initContainers or imagePullSecrets",
        ),
    )


def _containers() -> tuple[Check, ...]:
    own_image = pod_policies.is_own("--pruner-image")
    known = (
        f"one.?env.orValue([]).all(set, set.name in {policies.listed(_VARIABLES)}"
        " && (has(set.valueFrom) ? has(set.valueFrom.fieldRef)"
        f' : set.?value.orValue("").startsWith("{FOLDER}/")))'
    )
    in_place = (
        f'mount.mountPath.matches("^" + (mount.name in variables.claims ? "{STORAGE_FOLDER}"'
        f' : "{FOLDER}") + "/[a-z0-9/-]+$")'
    )
    return (
        policies.none_of(
            "otherImages",
            f"variables.containers.filter(one, !({own_image}))"
            '.map(one, one.name + " of " + one.image)',
            before=f"{_OWNER}: container",
            after="must be of the controller's image",
        ),
        each_container(
            "otherCommands",
            f"{policies.empty('one', 'command')} && one.?args.orValue([]).size() > 1"
            ' && one.args[0] == "prune" && one.args[1] == "images"',
            _OWNER,
            "must have no command, and args that begin with prune images",
        ),
        each_container(
            "otherArguments",
            f'one.?args.orValue([]).all(text, text.matches("{_ARGUMENT}"))',
            _OWNER,
            f"must have only args that Lading writes, and read files only below {FOLDER}",
        ),
        each_container(
            "otherVariables", known, _OWNER, f"must set no variables but {', '.join(_VARIABLES)}"
        ),
        each_container(
            "otherMounts",
            f"one.?volumeMounts.orValue([]).all(mount, {in_place})",
            _OWNER,
            f"must mount volumes only below {FOLDER}, and claims only below {STORAGE_FOLDER}",
        ),
    )


def cron_job_sources() -> AdmissionPolicy:
    claim = "one.persistentVolumeClaim"
    sources = " || ".join(
        (
            f"(has(one.secret) && {_names_secret('one.secret.secretName')})",
            f"(has(one.configMap) && {_names_config_map('one.configMap.name')})",
            f"(has({claim}) && {_names_claim(f'{claim}.claimName')})",
        )
    )
    environment = (
        "one.?envFrom.orValue([]).all(set, has(set.secretRef) && !has(set.prefix)"
        f" && {_names_secret('set.secretRef.name')})"
    )
    named = f"that ImagePruner {NAME} names in spec.registries"
    return AdmissionPolicy(
        name="lading-controller-cron-job-sources",
        rules=(_CRON_JOBS,),
        labels=OURS,
        parameter=Parameter(
            api_version=IMAGE_PRUNERS.api_version, kind=IMAGE_PRUNERS.kind, name=NAME
        ),
        variables={
            "registries": "params.?spec.?registries.orValue([])",
            "containers": f"{_TEMPLATE}.spec.containers",
        },
        checks=(
            policies.none_of(
                "otherVolumes",
                f"{_TEMPLATE}.spec.?volumes.orValue([]).filter(one, !({sources}))"
                ".map(one, one.name)",
                before=f"{_OWNER}: volume",
                after=f"must be of a Secret, a ConfigMap or a claim {named}",
            ),
            each_container(
                "otherPlaces",
                f'one.?args.orValue([]).filter(text, text.matches("{_PLACE}"))'
                f".all(text, {_names_place('text')})",
                _OWNER,
                f"must prune only a registry and a storage {named}",
            ),
            each_container(
                "otherSecrets",
                environment,
                _OWNER,
                f"must take variables only from Secrets {named}",
            ),
        ),
    )


def _names_secret(name: str) -> str:
    return _names(
        f'{name} == registry.?credentialsSecretName.orValue("")'
        f' || {name} == registry.?storage.?secretName.orValue("")'
        f" || {name} in registry.?kubeconfigSecretNames.orValue([])"
    )


def _names_config_map(name: str) -> str:
    return _names(
        f'{name} == registry.?policyConfigMapName.orValue("")'
        f' || {name} == registry.?certificateAuthorityConfigMapName.orValue("")'
    )


def _names_place(argument: str) -> str:
    return _names(
        f'{argument} == "--registry-url=" + registry.?url.orValue("")'
        f' || {argument} == "--storage=" + registry.?storage.?url.orValue("")'
        f' || {argument} == "--storage=file://{STORAGE_FOLDER}/" + registry.?name.orValue("")'
        f" || {argument} in registry.?sweep.?replicas.orValue([])"
        '.map(one, "--sweep-replica=" + one)'
    )


def _names_claim(name: str) -> str:
    return _names(f'{name} == registry.?storage.?claimName.orValue("")')


def _names(condition: str) -> str:
    return f"variables.registries.exists(registry, {condition})"


def image_pruner() -> AdmissionPolicy:
    """Otherwise the controller could name any Secret there and mount it."""
    return AdmissionPolicy(
        name="lading-controller-image-pruner",
        rules=(
            AdmissionRule(
                group=GROUP, version="v1", resources=("imagepruners",), operations=WRITES
            ),
        ),
        checks=(
            Check(
                expression=(
                    'request.operation == "CREATE" && '
                    f"{policies.empty('object.?spec', 'registries')}"
                ),
                message=(
                    "the controller must create an ImagePruner only without spec.registries, and"
                    " must not change its spec"
                ),
            ),
        ),
    )
