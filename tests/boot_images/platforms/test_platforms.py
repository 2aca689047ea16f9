"""Which image each platform answers with, and why there is none."""

from typing import Any

import pytest

from lading.boot_images import platforms
from lading.boot_images.platforms import aws, azure, gcp, manual
from lading.boot_images.platforms.types import AmiFacts, Api, CloudPlatform, TargetRequest
from lading.boot_images.stream import Stream
from lading.boot_images.verdicts import MachineSetState, NotUpdated, Why
from lading.ports.ec2 import Ami
from tests.boot_images import streams
from tests.boot_images.streams import (
    AMI,
    AMI_ARM,
    AMI_OLD,
    AZURE,
    AZURE_ARM,
    GCP_IMAGE,
    GCP_IMAGE_ARM,
    GCP_IMAGE_OLD,
)

Rows = tuple[tuple[str, Any, dict[str, Any], Any], ...]
INFRA = "mycluster-x7k2p"
GALLERY = "/resourceGroups/mycluster-x7k2p-rg/providers/Microsoft.Compute/galleries"
UPLOADED = f"{GALLERY}/gallery_mycluster_x7k2p/images/{INFRA}"
IMAGE = f"/resourceGroups/{INFRA}-rg/providers/Microsoft.Compute/images/{INFRA}"


def ask(
    platform: CloudPlatform, spec: Any, api: Api = Api.MACHINE, **facts: Any
) -> TargetRequest | NotUpdated:
    present = platform.present(api, spec)
    if isinstance(present, NotUpdated):
        return present
    return TargetRequest(
        **{
            "api": api,
            "spec": spec,
            "present": present,
            "stream": Stream(value=streams.stream()),
            "architecture": "x86_64",
            "infrastructure_name": INFRA,
            "region": "us-east-1",
            **facts,
        }
    )


def answer(platform: CloudPlatform, spec: Any, api: Api = Api.MACHINE, **facts: Any) -> Any:
    """The new value, None if the current image is the target, or why there is none."""
    request = ask(platform, spec, api, **facts)
    found = request if isinstance(request, NotUpdated) else platform.target(request)
    if isinstance(found, NotUpdated):
        assert found.message
        return found.why
    assert isinstance(request, TargetRequest)
    return None if found == request.present.image else found.value


def disks(image: Any, **others: Any) -> dict[str, Any]:
    return {"disks": [{"boot": False, "image": "data"}, {"boot": True, "image": image}], **others}


def gcp_stream(**fields: str) -> dict[str, Any]:
    value = streams.stream()
    value["architectures"]["x86_64"]["images"]["gcp"] |= fields
    return {"stream": Stream(value=value)}


GCP: Rows = (
    ("an older image of the stream's project", GCP_IMAGE_OLD, {}, GCP_IMAGE),
    ("the image of the stream", GCP_IMAGE, {}, None),
    ("the image of an installer until 4.6", f"{INFRA}-rhcos-image", {}, GCP_IMAGE),
    ("such an image of another cluster", "other-rhcos-image", {}, Why.NOT_OURS),
    (
        "such an image while no cluster is known",
        "-rhcos-image",
        {"infrastructure_name": ""},
        Why.NOT_OURS,
    ),
    ("a custom image", "projects/mine/global/images/rhcos-9", {}, Why.NOT_OURS),
    (
        "a custom image in our history",
        "projects/mine/global/images/x",
        {"is_in_history": True},
        GCP_IMAGE,
    ),
    (
        "a custom image that is trusted",
        "projects/mine/global/images/x",
        {"trusted": ("projects/mine/*",)},
        GCP_IMAGE,
    ),
    (
        "a marketplace image",
        "projects/redhat-marketplace-public/global/images/redhat-coreos-ocp-48",
        {},
        Why.NOT_OURS,
    ),
    (
        "a project that only begins like ours",
        "projects/rhcos-cloud-2/global/images/rhcos",
        {},
        Why.NOT_OURS,
    ),
    ("a family", "projects/rhcos-cloud/global/images/family/rhcos", {}, Why.IMAGE_FAMILY),
    ("a whole URL of the target", f"https://www.googleapis.com/compute/v1/{GCP_IMAGE}", {}, None),
    ("a stream with a query in its image", GCP_IMAGE_OLD, gcp_stream(name="x?y=1"), Why.NO_IMAGE),
    ("a stream with a family", GCP_IMAGE_OLD, gcp_stream(name="family/x"), Why.NO_IMAGE),
    ("a stream with a broken project", GCP_IMAGE_OLD, gcp_stream(project="a/b"), Why.NO_IMAGE),
    ("a whole URL", f"https://www.googleapis.com/compute/v1/{GCP_IMAGE_OLD}", {}, GCP_IMAGE),
    ("nonsense", "fake image", {}, Why.NOT_OURS),
    ("another architecture", GCP_IMAGE_OLD, {"architecture": "aarch64"}, Why.ARCHITECTURE_DIFFERS),
    ("an architecture without an image", GCP_IMAGE_OLD, {"architecture": "s390x"}, Why.NO_IMAGE),
    (
        "an architecture that the stream lacks",
        GCP_IMAGE_OLD,
        {"architecture": "riscv64"},
        Why.NO_IMAGE,
    ),
    ("no image", None, {}, Why.IMAGE_UNREADABLE),
    ("an image that is a number", 7, {}, Why.IMAGE_UNREADABLE),
)


def owned(owner: str, architecture: str = "x86_64") -> AmiFacts:
    return AmiFacts(ami=Ami(id=AMI_OLD, owner=owner, architecture=architecture))


AWS: Rows = (
    ("an AMI in our history", {"id": AMI_OLD}, {"is_in_history": True}, {"id": AMI}),
    ("the AMI of the stream", {"id": AMI}, {}, None),
    ("the AMI of the stream with other keys", {"id": AMI, "x": 1}, {}, None),
    ("an unknown AMI", {"id": AMI_OLD}, {}, Why.NOT_OURS),
    ("a trusted AMI", {"id": AMI_OLD}, {"trusted": (AMI_OLD,)}, {"id": AMI}),
    ("the AMI of another architecture", {"id": AMI_ARM}, {}, Why.ARCHITECTURE_DIFFERS),
    ("filters", {"filters": [{"name": "tag:Name"}]}, {}, Why.IMAGE_FILTERS),
    ("an ARN", {"arn": "arn:aws:ec2:::image/x"}, {}, Why.IMAGE_FILTERS),
    ("no AMI", None, {}, Why.IMAGE_UNREADABLE),
    ("an AMI that is a text", "ami", {}, Why.IMAGE_UNREADABLE),
    ("an architecture without AMIs", {"id": AMI_OLD}, {"architecture": "s390x"}, Why.NO_IMAGE),
    ("a region that the stream lacks", {"id": AMI_OLD}, {"region": "eu-north-9"}, Why.NO_IMAGE),
    ("an AMI of Red Hat's account", {"id": AMI_OLD}, {"ami": owned(aws.OWNER)}, {"id": AMI}),
    ("an AMI of another account", {"id": AMI_OLD}, {"ami": owned("1234")}, Why.NOT_OURS),
    ("an AMI that EC2 does not know", {"id": AMI_OLD}, {"ami": AmiFacts()}, Why.NOT_OURS),
    (
        "an AMI of Red Hat's account for another architecture",
        {"id": AMI_OLD},
        {"ami": owned(aws.OWNER, architecture="arm64")},
        Why.ARCHITECTURE_DIFFERS,
    ),
)


def azure_target(variant: str, generation: str, type_: str, source: Any = AZURE) -> dict[str, Any]:
    return {**source[variant][generation], "resourceID": "", "type": type_}


def free(sku: str, type_: str | None = "MarketplaceNoPlan") -> dict[str, Any]:
    image = {**streams.marketplace("azureopenshift", "aro4", sku, "1"), "resourceID": ""}
    return image if type_ is None else {**image, "type": type_}


def paid(publisher: str, offer: str, sku: str) -> dict[str, Any]:
    return {**streams.marketplace(publisher, offer, sku, "1"), "type": "MarketplaceWithPlan"}


NO_PLAN = "MarketplaceNoPlan"
FREE_1, FREE_2 = (azure_target("no-purchase-plan", f"hyperVGen{n}", NO_PLAN) for n in (1, 2))
FREE_ARM = azure_target("no-purchase-plan", "hyperVGen2", NO_PLAN, AZURE_ARM)
OCP_1, OCP_2 = (azure_target("ocp", f"hyperVGen{n}", "MarketplaceWithPlan") for n in (1, 2))
OPP = azure_target("opp-emea", "hyperVGen2", "MarketplaceWithPlan")
ARM = {"architecture": "aarch64"}
AZURE_CASES: Rows = (
    ("uploaded, generation 1", {"resourceID": UPLOADED}, {}, FREE_1),
    ("uploaded, generation 2", {"resourceID": f"{UPLOADED}-gen2/versions/latest"}, {}, FREE_2),
    ("uploaded until 4.5", {"resourceID": IMAGE}, {}, FREE_1),
    (
        "uploaded, generation 1, in a resource group of another generation",
        {"resourceID": UPLOADED.replace(f"{INFRA}-rg", "prod-gen2-rg")},
        {},
        FREE_1,
    ),
    (
        "uploaded, with the name of the cluster in another field",
        {"resourceID": f"{GALLERY}/gallery_mycluster_x7k2p/images/mine/versions/{INFRA}"},
        {},
        Why.NOT_OURS,
    ),
    (
        "trusted, with its generation in the name",
        {"resourceID": f"{GALLERY}/mine/images/golden-gen2"},
        {"trusted": ("/resourceGroups/*",)},
        FREE_2,
    ),
    (
        "trusted, of an unknown generation",
        {"resourceID": f"{GALLERY}/prod-gen2/images/golden"},
        {"trusted": ("/resourceGroups/*",)},
        Why.GENERATION_UNKNOWN,
    ),
    (
        "trusted, and no resource of Compute",
        {"resourceID": "/somewhere/golden-gen2"},
        {"trusted": ("/somewhere/*",)},
        Why.GENERATION_UNKNOWN,
    ),
    (
        "uploaded, generation 1, for a cluster that is named gen2",
        {"resourceID": UPLOADED.replace("x7k2p", "gen2")},
        {"infrastructure_name": "mycluster-gen2"},
        FREE_1,
    ),
    ("free, of an unknown generation", free("aro_419-v3"), {}, Why.GENERATION_UNKNOWN),
    (
        "paid, of an unknown generation",
        paid("redhat", "rh-ocp-worker", "rh-ocp-worker-v2"),
        {},
        Why.GENERATION_UNKNOWN,
    ),
    (
        "uploaded for another cluster",
        {"resourceID": UPLOADED.replace("x7k2p", "other")},
        {},
        Why.NOT_OURS,
    ),
    (
        "uploaded while no cluster is known",
        {"resourceID": IMAGE},
        {"infrastructure_name": ""},
        Why.NOT_OURS,
    ),
    ("free, generation 1", free("aro_419"), {}, FREE_1),
    ("free, generation 2", free("aro_419-v2"), {}, FREE_2),
    ("free, generation 1, without a type", free("aro_419", None), {}, FREE_1),
    ("free, ARM", free("aro_419-arm"), ARM, FREE_ARM),
    ("ARM on x86_64", free("aro_419-arm"), {}, Why.ARCHITECTURE_DIFFERS),
    ("x86_64 on ARM", free("aro_419-v2"), ARM, Why.ARCHITECTURE_DIFFERS),
    ("current", {**FREE_2}, {}, None),
    ("current without a resource id", {k: v for k, v in FREE_2.items() if v}, {}, None),
    ("current but for the type", {k: v for k, v in FREE_2.items() if k != "type"}, {}, FREE_2),
    ("paid, generation 1", paid("redhat", "rh-ocp-worker", "rh-ocp-worker-gen1"), {}, OCP_1),
    ("paid, generation 2", paid("redhat", "rh-ocp-worker", "rh-ocp-worker"), {}, OCP_2),
    ("paid in EMEA", paid("redhat-limited", "rh-opp-worker", "rh-opp-worker"), {}, OPP),
    (
        "paid, generation that the stream lacks",
        paid("redhat-limited", "rh-opp-worker", "rh-opp-worker-gen1"),
        {},
        Why.NO_IMAGE,
    ),
    (
        "paid, product that the stream lacks",
        paid("redhat", "rh-oke-worker", "rh-oke-worker"),
        {},
        Why.NO_IMAGE,
    ),
    ("paid, current", {**OCP_2}, {}, None),
    ("another product", paid("canonical", "ubuntu", "22"), {}, Why.PURCHASE_PLAN),
    ("an architecture without images", free("aro_419"), {"architecture": "s390x"}, Why.NO_IMAGE),
    ("a stream without a marketplace", free("aro_419"), {"stream": Stream(value={})}, Why.NO_IMAGE),
    ("no image", {}, {}, Why.IMAGE_UNREADABLE),
)


@pytest.mark.parametrize(
    ("image", "facts", "expected"), [row[1:] for row in GCP], ids=[row[0] for row in GCP]
)
def test_gcp(image: Any, facts: dict[str, Any], expected: Any) -> None:
    assert answer(gcp, disks(image), **facts) == expected
    in_template = Why.IMAGE_UNREADABLE if not isinstance(image, str) else expected
    assert answer(gcp, {"image": image}, Api.CLUSTER, **facts) == in_template


@pytest.mark.parametrize(
    "spec", [{}, {"disks": None}, {"disks": [None, 7]}, {"disks": [{"boot": True}] * 2}]
)
def test_gcp_needs_one_boot_disk(spec: Any) -> None:
    assert answer(gcp, spec) is Why.IMAGE_UNREADABLE


def test_gcp_changes_only_the_boot_disk() -> None:
    found = ask(gcp, disks("x"))
    assert isinstance(found, TargetRequest)
    assert found.present.path == ("disks", 1, "image")


def test_gcp_template_with_a_family() -> None:
    assert answer(gcp, {"imageFamily": "x"}, Api.CLUSTER) is Why.IMAGE_FAMILY


def test_gcp_arm() -> None:
    assert (
        answer(gcp, {"image": GCP_IMAGE_ARM.replace("8", "7")}, Api.CLUSTER, **ARM) == GCP_IMAGE_ARM
    )


@pytest.mark.parametrize(
    ("ami", "facts", "expected"), [row[1:] for row in AWS], ids=[row[0] for row in AWS]
)
def test_aws(ami: Any, facts: dict[str, Any], expected: Any) -> None:
    assert answer(aws, {"ami": ami}, **facts) == expected
    assert answer(aws, {"ami": ami}, Api.CLUSTER, **facts) == expected


def test_aws_uses_the_region_of_the_machine_spec() -> None:
    spec = {"ami": {"id": AMI_OLD}, "placement": {"region": "us-east-1"}}
    assert answer(aws, spec, region="elsewhere", is_in_history=True) == {"id": AMI}


@pytest.mark.parametrize(
    ("image", "facts", "expected"),
    [row[1:] for row in AZURE_CASES],
    ids=[row[0] for row in AZURE_CASES],
)
def test_azure(image: Any, facts: dict[str, Any], expected: Any) -> None:
    assert answer(azure, {"image": image}, **facts) == expected


@pytest.mark.parametrize("kind", ["ConfidentialVM", "TrustedLaunch"])
def test_azure_security_types_are_left_alone(kind: str) -> None:
    profile = {"settings": {"securityType": kind}}
    assert (
        answer(azure, {"image": free("aro_419"), "securityProfile": profile}) is Why.SECURITY_TYPE
    )


@pytest.mark.parametrize(
    ("image", "is_free"),
    [
        ({"id": f"/subscriptions/s{UPLOADED}-gen2"}, True),
        ({"marketplace": free("aro_419-v2")}, True),
        ({"marketplace": paid("redhat", "rh-ocp-worker", "rh-ocp-worker")}, False),
    ],
)
def test_azure_template(image: Any, is_free: bool) -> None:
    source = AZURE["no-purchase-plan" if is_free else "ocp"]["hyperVGen2"]
    expected = {"marketplace": {**source, "thirdPartyImage": not is_free}}
    assert answer(azure, {"image": image}, Api.CLUSTER) == expected


def test_azure_compute_gallery_is_not_ours() -> None:
    assert answer(azure, {"image": {"computeGallery": {"name": "x"}}}, Api.CLUSTER) is (
        Why.IMAGE_UNREADABLE
    )


@pytest.mark.parametrize(
    ("platform", "spec", "facts", "target"),
    [
        (manual.VSPHERE, {"template": "t"}, {}, streams.OVA),
        (manual.OPENSTACK, {"image": "i"}, {}, "https://example.com/openstack.qcow2.gz"),
        (manual.OPENSTACK, {"rootVolume": {"sourceUUID": "u"}}, {}, "openstack.qcow2.gz"),
        (manual.NUTANIX, {"image": {"type": "name", "name": "n"}}, {}, "nutanix.qcow2"),
        (manual.BARE_METAL, {"image": {"url": "http://x"}}, {}, "metal.iso"),
        (
            manual.POWERVS,
            {"image": {"type": "Name", "name": "n"}},
            {"architecture": "ppc64le", "region": "au-syd"},
            "https://example.com/p.ova.gz",
        ),
    ],
)
def test_manual_platforms_name_the_target(
    platform: CloudPlatform, spec: Any, facts: dict[str, Any], target: str
) -> None:
    request = ask(platform, spec, **facts)
    assert isinstance(request, TargetRequest)
    found = platform.target(request)
    assert isinstance(found, NotUpdated)
    assert (found.why, found.why.state) == (Why.PLATFORM_MANUAL, MachineSetState.MANUAL)
    assert target in found.message
    assert answer(platform, spec, **{**facts, "stream": Stream(value={})}) is Why.NO_IMAGE


@pytest.mark.parametrize("platform", platforms.BY_PROVIDER_SPEC.values(), ids=lambda one: one.name)
@pytest.mark.parametrize("api", Api)
@pytest.mark.parametrize("value", [None, [], "text", 7, {}, {"a": None}, [None], {"id": 7}])
def test_no_platform_is_broken_by_a_strange_spec(
    platform: CloudPlatform, api: Api, value: Any
) -> None:
    keys = ("image", "ami", "disks", "template", "rootVolume", "securityProfile", "placement")
    spec = dict.fromkeys(keys, value)
    answer(platform, spec, api)


PRODUCT, OTHER_PRODUCT = (f"{digit * 8}-1111-2222-3333-444444444444" for digit in "ab")
CURRENT = "ami-0000000000000000c"


def of_product(id_: str, release: str, **facts: str) -> Ami:
    fields = {
        "id": id_,
        "owner": aws.MARKETPLACE_OWNER,
        "name": f"rhcos-x86_64-{PRODUCT}",
        "description": f"OpenShift {release}",
        "architecture": "x86_64",
        "created_at": "2026-01-01",
        **facts,
    }
    return Ami(**fields)


PRESENT = of_product(CURRENT, "9.4.20250101-0")
NEWER = of_product("ami-0000000000000000d", "9.6.20260101-0")


@pytest.mark.parametrize(
    ("others", "release", "expected"),
    [
        pytest.param([NEWER], "9.8.20260428-0", {"id": NEWER.id}, id="the newest that fits"),
        pytest.param([], "9.8.20260428-0", None, id="the present one is the newest"),
        pytest.param([NEWER], "9.4.20260428-0", None, id="one of a later minor release"),
        pytest.param(
            [NEWER, of_product("ami-0000000000000000e", "9.6.20260101-0", created_at="2026-02")],
            "9.6.20260101-0",
            {"id": "ami-0000000000000000e"},
            id="of one release the one that was made last",
        ),
        pytest.param(
            [of_product("ami-0000000000000000f", "9.10.20260101-0"), NEWER],
            "9.10.20260101-0",
            {"id": "ami-0000000000000000f"},
            id="10 is later than 6",
        ),
        pytest.param(
            [of_product("ami-0000000000000000f", "9.6.20260101-0", name=f"x-{OTHER_PRODUCT}")],
            "9.8.20260428-0",
            None,
            id="one of another product",
        ),
        pytest.param(
            [of_product("ami-0000000000000000f", "9.6.20260101-0", owner=aws.OWNER)],
            "9.8.20260428-0",
            None,
            id="one of another owner",
        ),
        pytest.param(
            [of_product("ami-0000000000000000f", "9.6.20260101-0", architecture="arm64")],
            "9.8.20260428-0",
            None,
            id="one of another architecture",
        ),
        pytest.param(
            [of_product("ami-0000000000000000f", "418.94.202602022246-0")],
            "9.8.20260428-0",
            None,
            id="one of the old scheme does not sort after 9.8",
        ),
        pytest.param([NEWER], "418.94.202602022246-0", Why.NO_IMAGE, id="an old stream"),
        pytest.param([NEWER], "", Why.NO_IMAGE, id="a stream without a release"),
    ],
)
def test_aws_marketplace(others: list[Ami], release: str, expected: Any) -> None:
    value = streams.stream()
    value["architectures"]["x86_64"]["artifacts"]["aws"] = {"release": release}
    facts = AmiFacts(ami=PRESENT, product_images=(PRESENT, *others))
    found = answer(
        aws,
        {"ami": {"id": CURRENT}},
        stream=Stream(value=value),
        ami=facts,
        is_in_history=True,
    )
    assert found == ({"id": CURRENT} if expected is None else expected)


def test_aws_marketplace_without_an_image_that_fits() -> None:
    value = streams.stream()
    value["architectures"]["x86_64"]["artifacts"]["aws"] = {"release": "9.2.20240101-0"}
    facts = AmiFacts(ami=PRESENT, product_images=(PRESENT, NEWER))
    found = answer(aws, {"ami": {"id": CURRENT}}, stream=Stream(value=value), ami=facts)
    assert found is Why.NO_IMAGE


def test_aws_shows_why_ec2_could_not_be_asked() -> None:
    request = ask(aws, {"ami": {"id": AMI_OLD}}, ami=AmiFacts(problem="cannot connect to EC2"))
    assert isinstance(request, TargetRequest)
    found = aws.target(request)
    assert isinstance(found, NotUpdated)
    assert "cannot connect to EC2" in found.message
