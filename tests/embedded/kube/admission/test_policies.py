"""Admission policies: which requests they meet, and what they answer."""

from typing import Any

import pytest

from lading.embedded.kube.admission import policies
from lading.embedded.kube.admission.matching import Attributes, ParameterQuery

Document = dict[str, Any]
CREATED = {"metadata": {"name": "c", "labels": {"app": "x"}}, "data": {"size": "5"}}


def policy(*validations: Document, name: str = "p", **spec: Any) -> Document:
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["*"],
        "resources": ["configmaps"],
    }
    constraints = {"resourceRules": [rule]}
    given = {"matchConstraints": constraints, "validations": list(validations), **spec}
    return {"metadata": {"name": name}, "spec": given}


def binding(name: str = "b", **spec: Any) -> Document:
    given = {"policyName": "p", "validationActions": ["Deny"], **spec}
    return {"metadata": {"name": name}, "spec": given}


def attributes(**more: Any) -> Attributes:
    given: Document = {
        "operation": "CREATE",
        "group": "",
        "version": "v1",
        "kind": "ConfigMap",
        "resource": "configmaps",
        "name": "c",
        "namespace": "default",
        "object": CREATED,
    }
    return Attributes(**{**given, **more})


def no_parameters(query: ParameterQuery) -> list[Document] | None:
    raise AssertionError("no parameters were asked for")


def message(
    of: Document, request: Attributes | None = None, bound: Document | None = None, **more: Any
) -> str:
    """What the request is refused with; empty when it passes."""
    lookup = more.get("lookup", no_parameters)
    decision = policies.decide([of], [bound or binding()], lookup, request or attributes())
    return decision.denial.message if decision.denial else ""


def expression(text: str, **more: Any) -> Document:
    return {"expression": text, **more}


FALSE = expression("false", message="no")
DENIED = "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no"


def test_the_reason_decides_the_code() -> None:
    decision = policies.decide(
        [policy(expression("false", reason="Forbidden"))], [binding()], no_parameters, attributes()
    )
    assert decision.denial is not None
    assert (decision.denial.reason, decision.denial.code) == ("Forbidden", 403)


def test_a_policy_without_a_binding_is_not_in_force() -> None:
    decision = policies.decide([policy(FALSE)], [], no_parameters, attributes())
    assert decision == policies.Decision(denial=None, warnings=())


class TestMatching:
    @pytest.mark.parametrize(
        ("rule", "is_met"),
        [
            ({"operations": ["UPDATE"]}, False),
            ({"operations": ["CREATE", "UPDATE"]}, True),
            ({"apiGroups": ["apps"]}, False),
            ({"apiVersions": ["v2"]}, False),
            ({"resources": ["*"]}, True),
            ({"resources": ["configmaps/status"]}, False),
            ({"resources": ["*/*"]}, True),
            ({"resourceNames": ["other"]}, False),
            ({"scope": "Cluster"}, False),
            ({"scope": "Namespaced"}, True),
        ],
    )
    def test_resource_rules(self, rule: Document, is_met: bool) -> None:
        of = policy(FALSE)
        of["spec"]["matchConstraints"]["resourceRules"][0].update(rule)
        assert message(of) == (DENIED if is_met else "")

    def test_exclusions_win(self) -> None:
        of = policy(FALSE)
        constraints = of["spec"]["matchConstraints"]
        constraints["excludeResourceRules"] = constraints["resourceRules"]
        assert message(of) == ""

    @pytest.mark.parametrize(("label", "is_met"), [("x", True), ("y", False)])
    def test_labels_of_the_object_or_of_its_namespace_select(
        self, label: str, is_met: bool
    ) -> None:
        selector = {"matchLabels": {"app": label}}
        for key in ("objectSelector", "namespaceSelector"):
            of = policy(FALSE)
            of["spec"]["matchConstraints"][key] = selector
            request = attributes(namespace_object={"metadata": {"labels": {"app": "x"}}})
            assert message(of, request) == (DENIED if is_met else "")

    def test_a_binding_may_narrow_its_policy(self) -> None:
        narrow = binding(matchResources={"objectSelector": {"matchLabels": {"app": "y"}}})
        assert message(policy(FALSE), bound=narrow) == ""

    def test_another_version_of_the_resource_is_equivalent_unless_exact_is_asked(self) -> None:
        request = attributes(version="v2", equivalent_versions=("v1",))
        assert message(policy(FALSE), request) == DENIED
        of = policy(FALSE)
        of["spec"]["matchConstraints"]["matchPolicy"] = "Exact"
        assert message(of, request) == ""

    def test_policies_never_judge_policies(self) -> None:
        of = policy(FALSE)
        of["spec"]["matchConstraints"] = {}
        request = attributes(group="admissionregistration.k8s.io", resource="x")
        assert message(of, request) == ""


class TestNames:
    @pytest.mark.parametrize(
        "text",
        [
            "oldObject == null",
            "request.operation == 'CREATE' && request.namespace == 'default'",
            "request.resource.resource == 'configmaps' && request.kind.kind == 'ConfigMap'",
            "namespaceObject.metadata.labels.tier == 'gold'",
            "request.userInfo.username == 'u' && 'g' in request.userInfo.groups",
            "request.userInfo.extra['authentication.kubernetes.io/node-name'][0] == 'n1'",
            "params == null",
        ],
    )
    def test_what_expressions_may_use(self, text: str) -> None:
        user = {
            "username": "u",
            "groups": ["g"],
            "extra": {"authentication.kubernetes.io/node-name": ["n1"]},
        }
        namespace = {"metadata": {"labels": {"tier": "gold"}}}
        request = attributes(user=user, namespace_object=namespace)
        assert message(policy(expression(text)), request) == ""

    def test_variables_build_on_each_other_and_only_used_ones_count(self) -> None:
        variables = [
            {"name": "size", "expression": "int(object.data.size)"},
            {"name": "double", "expression": "variables.size * 2"},
            {"name": "broken", "expression": "object.nothing.here"},
        ]
        assert message(policy(expression("variables.double == 10"), variables=variables)) == ""

    def test_a_variable_that_fails_is_named(self) -> None:
        variables = [{"name": "broken", "expression": "object.nothing"}]
        found = message(policy(expression("variables.broken == 1"), variables=variables))
        assert 'composited variable "broken" fails to evaluate: no such key: nothing' in found

    def test_the_authorizer_is_refused_clearly(self) -> None:
        found = message(policy(expression("authorizer.path('/x').check('get').allowed()")))
        assert "authorizer is not available" in found


class TestFailures:
    BROKEN = expression("object.nothing == 1")

    def test_unless_failures_are_ignored(self) -> None:
        assert message(policy(self.BROKEN, failurePolicy="Ignore")) == ""

    def test_but_ignoring_failures_does_not_ignore_a_plain_no(self) -> None:
        assert message(policy(FALSE, failurePolicy="Ignore")) == DENIED


class TestParameters:
    KIND = {"apiVersion": "v1", "kind": "ConfigMap"}
    LIMIT = expression("int(object.data.size) <= int(params.data.max)", message="no")

    def decide(self, found: list[Document] | None, **reference: Any) -> str:
        asked: list[ParameterQuery] = []

        def lookup(query: ParameterQuery) -> list[Document] | None:
            asked.append(query)
            return found

        given = {"name": "limits", "parameterNotFoundAction": "Deny", **reference}
        of = policy(self.LIMIT, paramKind=self.KIND)
        answer = message(of, bound=binding(paramRef=given), lookup=lookup)
        assert [query.namespace for query in asked] == [reference.get("namespace", "default")]
        return answer

    def test_the_parameter_decides(self) -> None:
        assert self.decide([{"data": {"max": "5"}}]) == ""
        assert self.decide([{"data": {"max": "4"}}]) == DENIED

    def test_every_selected_parameter_must_agree(self) -> None:
        found = [{"data": {"max": "5"}}, {"data": {"max": "4"}}]
        assert self.decide(found, name="", selector={}) == DENIED

    def test_a_missing_parameter_denies_or_is_passed_over_as_the_binding_says(self) -> None:
        assert self.decide([]).endswith(
            "denied request: failed to configure binding: no params found for policy binding with "
            "`Deny` parameterNotFoundAction"
        )
        assert self.decide([], parameterNotFoundAction="Allow") == ""

    def test_an_unknown_kind_of_parameter_is_a_failure(self) -> None:
        assert "failed to find resource referenced by paramKind" in self.decide(None)

    def test_a_namespace_in_the_reference_is_used(self) -> None:
        assert self.decide([{"data": {"max": "5"}}], namespace="other") == ""
