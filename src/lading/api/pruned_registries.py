"""The plain registries of an ImagePruner: what is ours in its spec."""

from typing import Annotated, ClassVar

from lading.kernel.fields import Field, Rule
from lading.kernel.objects import Model

DURATION = "^[+]?(0|(([0-9]+([.][0-9]*)?|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$"
DURATION_RULE = Rule(
    rule=f"self.matches('{DURATION}')",
    message="must be a duration that is not negative, such as 60m, 1h30m or 0s",
)
STORAGE = "^(file:///|s3://|gs://|az://)"
STORAGE_RULE = Rule(
    rule=f"self.matches('{STORAGE}')",
    message="must begin with file:///, s3://, gs:// or az://",
)
URL = "^(https?://)?[A-Za-z0-9.:\\[\\]-]+/?$"
URL_RULE = Rule(
    rule="self.matches('{}')".format(URL.replace("\\", "\\\\")),
    message="must be host[:port], https://host[:port] or http://host[:port]",
)
NAME = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
NAME_EXPECTED = "must be lower-case letters, digits and '-', with a letter or digit at both ends"
NAME_LENGTH_MAX = 40
NAME_TAKEN = "imagestreams"


class RegistryStorage(Model, frozen=True, kw_only=True):
    """The storage of a registry, as `lading prune --storage` reads it."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            rule=(
                "!has(self.claimName) || self.claimName == '' || self.url.startsWith('file:///')"
            ),
            message="claimName requires a url that begins with file:///",
        ),
    )
    url: Annotated[
        str,
        Field(
            "file:///FOLDER, s3://BUCKET/PREFIX, gs://BUCKET or az://CONTAINER.",
            min_length=1,
            max_length=1024,
            rules=(STORAGE_RULE,),
        ),
    ]
    secret_name: Annotated[
        str,
        Field(
            "A Secret with the credentials of the storage, as environment variables.",
            max_length=253,
        ),
    ] = ""
    claim_name: Annotated[
        str,
        Field(
            "A PersistentVolumeClaim with the storage. It is mounted below /storage; the folder of "
            "the url is not used.",
            max_length=253,
        ),
    ] = ""


class RegistryTrash(Model, frozen=True, kw_only=True):
    """Where deleted images are kept for a while."""

    disabled: Annotated[bool, Field("Delete without a copy in the trash.")] = False
    repository: Annotated[str, Field("The repository of the trash.", max_length=255)] = ""
    period: Annotated[
        str,
        Field(
            "How long deleted images are kept; default 168h.",
            max_length=64,
            rules=(DURATION_RULE,),
        ),
    ] = "168h"


class BlobSweep(Model, frozen=True, kw_only=True):
    """How the storage that no manifest needs is freed, as `lading prune blobs` does it."""

    grace: Annotated[
        str,
        Field(
            "The minimum age of a blob to delete, and the minimum time between the run that "
            "condemns it and the run that deletes it; default 24h.",
            max_length=64,
            rules=(DURATION_RULE,),
        ),
    ] = "24h"
    replicas: Annotated[
        tuple[str, ...],
        Field(
            "The address of each replica of the registry; default: the address of the registry.",
            max_items=16,
            list_type="set",
            items=Field("An address.", min_length=1, max_length=253, rules=(URL_RULE,)),
        ),
    ] = ()


class PrunedRegistry(Model, frozen=True, kw_only=True):
    """A plain registry to prune. Secrets and ConfigMaps are in the namespace of Lading."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(rule="!has(self.sweep) || has(self.storage)", message="sweep requires storage"),
    )
    name: Annotated[
        str,
        Field(
            "The name of the registry in reports. Its container is registry-NAME.",
            min_length=1,
            max_length=NAME_LENGTH_MAX,
            pattern=NAME,
            rules=(
                Rule(rule=f"self != '{NAME_TAKEN}'", message=f"the name {NAME_TAKEN} is reserved"),
            ),
        ),
    ]
    url: Annotated[
        str,
        Field("The address of the registry.", min_length=1, max_length=253, rules=(URL_RULE,)),
    ]
    registry_names: Annotated[
        tuple[str, ...],
        Field(
            "Other addresses that pods use to pull from the registry.",
            max_items=32,
            list_type="atomic",
            items=Field("A host, with its port if it has one.", min_length=1, max_length=253),
        ),
    ] = ()
    policy_config_map_name: Annotated[
        str, Field("A ConfigMap with the policy in key policy.yaml.", max_length=253)
    ] = ""
    credentials_secret_name: Annotated[
        str,
        Field(
            "A Secret of type kubernetes.io/dockerconfigjson with the credentials of the registry.",
            max_length=253,
        ),
    ] = ""
    certificate_authority_config_map_name: Annotated[
        str,
        Field(
            "A ConfigMap with the certificate authority of the registry in key ca.crt.",
            max_length=253,
        ),
    ] = ""
    storage: Annotated[RegistryStorage | None, Field("The storage of the registry.")] = None
    sweep: Annotated[
        BlobSweep | None,
        Field("After the images are pruned, free the storage that no manifest needs."),
    ] = None
    trash: Annotated[
        RegistryTrash | None, Field("Where deleted images are kept until they expire.")
    ] = None
    kubeconfig_secret_names: Annotated[
        tuple[str, ...],
        Field(
            "Secrets with a kubeconfig of another cluster that uses the registry, in key "
            "kubeconfig.",
            max_items=16,
            list_type="set",
            items=Field("The name of a Secret.", min_length=1, max_length=253),
        ),
    ] = ()
