"""Any expression in an admission policy is evaluated, or denies the request it was for."""

from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from lading.embedded.kube.admission import policies
from lading.embedded.kube.admission.matching import Attributes
from lading.embedded.kube.admission.policies import Decision
from lading.installation import agent_policies, controller_policies
from tests.fuzz import harness, inputs

OWN = [
    *agent_policies.agent_policies(namespace="lading-agents", account="lading-agent"),
    *controller_policies.controller_policies(namespace="lading-system"),
]
EXPRESSIONS: list[str] = [
    expression
    for document in OWN
    for part in ("matchConditions", "variables", "validations")
    for one in document["spec"].get(part, ())
    for expression in (one["expression"], one.get("messageExpression", "true"))
] + [
    "object.spec.replicas <= 5 && object.metadata.name.matches('^a+$')",
    "[1, 2].all(x, [3].exists(y, x < y)) ? 'a'.find('[a-z]') == 'a' : has(object.spec)",
    "quantity('1Gi').isGreaterThan(quantity('1M')) && url('https://a/b').getHost() == 'a'",
    "request.userInfo.?extra[?'a'][?0].orValue('') == ''",
]
PIECES = st.sampled_from(
    [
        *("(", ")", "[", "]", "{", "}", "'", '"', "\\", ".", "?", ":", "!", "-", "+", "%", "/"),
        *("null", "true", "1e308", "9223372036854775807", "-9223372036854775808", "0u", "b'\\xff'"),
        *("object", "oldObject", "variables.a", "params", "x", "self", "in", "&&", "||", "=="),
        *(".map(x, x)", ".all(x, x)", ".filter(x, true)", ".matches('(a+)+$')", ".find('(')"),
        *(".split('')", ".replace('', 'aa')", ".format([1])", "cel.bind(a, 1, a)", "dyn(1)"),
        *("(" * 300, "[" * 300, "!" * 3000, "-" * 3000, "a." * 2000, "'" + "é" * 3000 + "'"),
    ]
)


@st.composite
def expressions(draw: st.DrawFn) -> str:
    """A valid one with pieces cut out and put in."""
    text = draw(st.sampled_from(EXPRESSIONS))
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(text)))
        text = text[:at] + draw(PIECES) + text[at + draw(st.integers(0, 8)) :]
    return text


def policy(condition: str, variable: str, validation: str, message: str) -> list[dict[str, Any]]:
    spec = {
        "matchConstraints": {
            "resourceRules": [
                {
                    "apiGroups": ["*"],
                    "apiVersions": ["*"],
                    "operations": ["*"],
                    "resources": ["*"],
                }
            ]
        },
        "matchConditions": [{"name": "one", "expression": condition}],
        "variables": [{"name": "node", "expression": variable}],
        "validations": [
            {"expression": validation, "messageExpression": message},
            {"expression": "variables.node == ''"},
        ],
    }
    return [{"metadata": {"name": "fuzz"}, "spec": spec}]


BINDINGS = [
    {"metadata": {"name": "fuzz"}, "spec": {"policyName": "fuzz", "validationActions": ["Deny"]}}
]


@given(
    condition=st.just("true") | expressions(),
    variable=expressions(),
    validation=expressions(),
    message=expressions(),
    document=inputs.documents({"metadata": {"name": "a"}, "spec": {"replicas": 1}}),
)
@example(
    condition="true",
    variable="''",
    validation="object.a.matches('^(a|aa)+$')",
    message="'" + "a" * 6000 + "'",
    document={"metadata": {"name": "a"}, "a": "a" * 5000 + "!"},
)
@example(
    condition="true",
    variable="variables.node",
    validation="[1,2,3,4,5,6,7,8,9].map(a, " * 9 + "1" + ")" * 9 + " == []",
    message="1",
    document={"metadata": {"name": "a"}},
)
def test_any_expression_decides(
    condition: str, variable: str, validation: str, message: str, document: Any
) -> None:
    attributes = Attributes(
        operation="CREATE",
        group="apps",
        version="v1",
        kind="Deployment",
        resource="deployments",
        name="a",
        object=document,
        user={"username": "admin", "groups": [], "extra": {}},
    )

    def decide() -> None:
        made = policy(condition, variable, validation, message)
        decision = policies.decide(made, BINDINGS, lambda query: None, attributes)
        assert isinstance(decision, Decision)

    harness.check(decide, refusals=())
