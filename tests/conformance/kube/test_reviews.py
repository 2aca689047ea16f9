"""Reviews: an administrator asks who it is and what it may do."""

from typing import Any

import pytest

from tests.conformance.kube.api import Answer, Api

AUTHENTICATION = "/apis/authentication.k8s.io/v1"
AUTHORIZATION = "/apis/authorization.k8s.io/v1"


async def ask(api: Api, path: str, kind: str, **spec: Any) -> Answer:
    body = {"apiVersion": path.removeprefix("/apis/"), "kind": kind, "spec": spec}
    return await api.call("POST", f"{path}/{kind.lower()}s", body)


async def test_a_client_can_ask_for_its_user(api: Api) -> None:
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    answer = await api.call("POST", f"{AUTHENTICATION}/selfsubjectreviews", body)
    assert answer.status == 201
    user = answer.body["status"]["userInfo"]
    assert user["username"] == "admin"
    assert user["groups"] == ["system:masters", "system:authenticated"]


@pytest.mark.parametrize(
    ("headers", "groups"),
    [
        ({"impersonate-user": "ann"}, ["system:authenticated"]),
        (
            {"impersonate-user": "ann", "impersonate-group": "staff"},
            ["staff", "system:authenticated"],
        ),
        (
            {"impersonate-user": "system:serviceaccount:here:robot"},
            ["system:serviceaccounts", "system:serviceaccounts:here", "system:authenticated"],
        ),
    ],
)
async def test_an_administrator_may_impersonate_another_user(
    api: Api, headers: dict[str, str], groups: list[str]
) -> None:
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    path = f"{AUTHENTICATION}/selfsubjectreviews"
    answer = await api.call("POST", path, body, headers=headers)
    user = answer.body["status"]["userInfo"]
    assert (user["username"], user["groups"]) == (headers["impersonate-user"], groups)


async def test_an_administrator_may_do_what_it_asks_about(api: Api) -> None:
    wanted = {"verb": "delete", "resource": "nodes"}
    answer = await ask(api, AUTHORIZATION, "SelfSubjectAccessReview", resourceAttributes=wanted)
    assert (answer.status, answer.body["status"]["allowed"]) == (201, True)
    assert answer.body["spec"]["resourceAttributes"] == wanted


@pytest.mark.parametrize(
    ("attributes", "why"),
    [
        ((), "exactly one of nonResourceAttributes or resourceAttributes must be specified"),
        (
            ("resourceAttributes", "nonResourceAttributes"),
            "cannot be specified in combination with resourceAttributes",
        ),
    ],
)
async def test_a_question_about_rights_is_one_question(
    api: Api, attributes: tuple[str, ...], why: str
) -> None:
    spec = {each: {"verb": "get"} for each in attributes}
    answer = await ask(api, AUTHORIZATION, "SelfSubjectAccessReview", **spec)
    assert answer.refusal[:2] == (422, "Invalid")
    assert why in answer.refusal[2]


async def test_an_administrator_has_every_right_in_a_namespace(api: Api) -> None:
    answer = await ask(api, AUTHORIZATION, "SelfSubjectRulesReview", namespace="default")
    everything = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
    assert everything in answer.body["status"]["resourceRules"]
    assert answer.body["status"]["incomplete"] is False
    without = await ask(api, AUTHORIZATION, "SelfSubjectRulesReview")
    assert without.refusal[:2] == (400, "BadRequest")


async def test_reviews_are_not_kept(api: Api) -> None:
    answer = await api.call("GET", f"{AUTHENTICATION}/selfsubjectreviews")
    assert answer.refusal[:2] == (405, "MethodNotAllowed")
