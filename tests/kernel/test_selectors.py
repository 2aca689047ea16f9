"""Label selectors: both forms mean the same, and nonsense is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lading.kernel import selectors
from lading.kernel.errors import Malformed
from lading.kernel.selectors import Expression, LabelSelector, Operator, Requirement, Selector

keys = st.from_regex(r"([a-z]{1,5}\.[a-z]{1,5}/)?[A-Za-z]{1,8}", fullmatch=True).filter(
    lambda key: key not in ("in", "notin")
)
values = st.from_regex(r"[a-z0-9]{1,5}", fullmatch=True)
requirements = st.one_of(
    st.builds(
        Requirement,
        keys,
        st.sampled_from([Operator.IN, Operator.NOT_IN]),
        st.frozensets(values, min_size=1, max_size=3),
    ),
    st.builds(Requirement, keys, st.sampled_from([Operator.EXISTS, Operator.DOES_NOT_EXIST])),
)


@given(st.lists(requirements, max_size=4).map(lambda found: Selector(tuple(found))))
def test_what_is_written_is_read_back_the_same(selector: Selector) -> None:
    assert selectors.parse(str(selector)) == selector


@given(st.text(alphabet="ab=!,() <>innot", max_size=30))
def test_any_text_is_a_selector_or_is_refused(text: str) -> None:
    try:
        selectors.parse(text)
    except Malformed as error:
        assert error.reason


LABELS = {"role": "worker", "zone": "a", "empty": ""}


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("", True),
        ("role=worker", True),
        ("role==worker,zone=a", True),
        ("role=worker,zone=b", False),
        ("role!=worker", False),
        ("absent!=x", True),
        ("role in (worker, infra)", True),
        ("role notin (worker)", False),
        ("absent notin (x)", True),
        ("role", True),
        ("!role", False),
        ("!absent", True),
        ("empty=", True),
        ("absent=", False),
    ],
)
def test_the_query_form_selects_as_kubernetes_does(text: str, matches: bool) -> None:
    assert selectors.parse(text).matches(LABELS) is matches


@pytest.mark.parametrize(
    "text", [",", "a,", "=b", "a=b=c", "a in", "a in ()x", "a in b", "a b", "!", "a>1", "a/b/c=d",
             "a..b/c=d", "a.-b/c=d", "/c=d", f"{'a' * 254}/c=d"]
)  # fmt: skip
def test_a_malformed_selector_is_refused(text: str) -> None:
    with pytest.raises(Malformed, match="label selector"):
        selectors.parse(text)


def test_the_object_form_is_a_conjunction() -> None:
    selector = Selector.of(
        LabelSelector(
            match_labels={"role": "worker"},
            match_expressions=(Expression(key="zone", operator=Operator.IN, values=("a", "b")),),
        )
    )
    assert selector.matches(LABELS)
    assert not selector.matches({**LABELS, "zone": "c"})


@pytest.mark.parametrize(
    "expression",
    [
        Expression(key="a", operator=Operator.IN),
        Expression(key="a", operator=Operator.EXISTS, values=("x",)),
    ],
)
def test_values_must_fit_the_operator(expression: Expression) -> None:
    with pytest.raises(Malformed, match="takes"):
        Selector.of(LabelSelector(match_expressions=(expression,)))
