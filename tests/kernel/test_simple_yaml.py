"""Whatever is read has the value that PyYAML reads; kubeconfigs of common programs are read."""

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from lading.kernel import simple_yaml, yaml_text
from lading.kernel.simple_yaml import NotSimple

KUBECTL = """\
apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1J+/A==
    server: https://127.0.0.1:6443
  name: kind-kind
- cluster:
    insecure-skip-tls-verify: true
    server: https://[::1]:6443/prefix
    tls-server-name: ""
  name: arn:aws:eks:eu-west-1:123:cluster/one
contexts:
- context:
    cluster: kind-kind
    namespace: 'default'
    user: kind-kind
  name: kind-kind
current-context: kind-kind
kind: Config
preferences: {}
users:
- name: kind-kind
  user:
    client-certificate-data: LS0tLS1CRUdJTg==
    client-key-data: LS0tLS1CRUdJTg==
"""
EKS = """\
# written by a program
users:
  - name: arn:aws:eks:eu-west-1:123:cluster/one
    user:
      exec:
        apiVersion: client.authentication.k8s.io/v1beta1
        args:
          - eks
          - get-token
          - "--cluster-name"
        command: aws
        env: []
        interactiveMode: IfAvailable
        provideClusterInfo: false
"""
MINIKUBE = """\
clusters:
- cluster:
    certificate-authority: /home/me/.minikube/ca.crt
    extensions:
    - extension:
        last-update: Fri, 01 Jan 2027 00:00:00 UTC
        provider: minikube.sigs.k8s.io
        version: v1.38.0
      name: cluster_info
    server: https://192.168.49.2:8443
  name: minikube
"""


@pytest.mark.parametrize("text", [KUBECTL, EKS, MINIKUBE, "", "\n# nothing\n", "a:\nb:\n"])
def test_what_programs_write_is_read(text: str) -> None:
    assert simple_yaml.value(text.encode()) == yaml_text.value(text.encode())


@pytest.mark.parametrize(
    "text",
    [
        "a: 1",
        "a: 2027-01-01",
        "a: yes",
        "a: NULL",
        "a: ~",
        "a: b: c",
        "a: b # c",
        "a: b\n  c",
        "a: >-\n  b",
        "a: &b c",
        "a: *b",
        "a: !!str b",
        "a: {b: c}",
        'a: "\\n"',
        "a: 'it''s'",
        "a: b ",
        "a:  b",
        "a:\tb",
        "a: b\r\nc: d",
        "# \x00",
        "# \r: b",
        "a: é",
        "on: b",
        "a: b\na: c",
        "a: b\n c: d",
        " a: b\nc: d",
        "- - a",
        "-\n  a: b",
        "- a\nb: c",
        "a:\n  b",
        "a",
        "---\na: b",
        "a: b\n---\nc: d",
        "%YAML 1.2\n---\na: b",
        "? a\n: b",
        f"{'a' * 2000}: b",
        f"a: {'b' * simple_yaml.BYTES_MAX}",
        "\n".join(f"{' ' * level}a:" for level in range(100)),
        "a:\n" + "\n".join(f"{'  ' * level}- a:" for level in range(100)),
    ],
)
def test_what_is_not_simple_is_left_to_pyyaml(text: str) -> None:
    with pytest.raises(NotSimple):
        simple_yaml.value(text.encode())


PIECES = st.sampled_from(
    [
        *("a", "b", "name", "server", "true", "on", "x/y", "1", "_", "''", '""', '"q r"', "'s'"),
        *(": ", ":", "- ", "-", "\n", "\n", "\n  ", "\n    ", "\n ", " ", "  ", "#", " #", "{}"),
        *("[]", "https://h:1/p", "=", ",", "|", "&", "*", "!", "%", "@", "`", "\\", "\t", "\r"),
        *("---", "...", "?", "<<", "null", "~", "0x1", "1e3", ".inf", "2027-01-01", "é", "\x7f"),
    ]
)
KEYS = st.sampled_from(["a", "b", "c-d", "e.f/g", "on", "x"])
VALUES = st.sampled_from(
    ["v", "true", "q r", "'s'", '"t"', "{}", "https://h:1", "a:b", "1", "n", ""]
)


@st.composite
def blocks(draw: st.DrawFn) -> str:
    """Lines that are indented at random, so that most texts are almost YAML."""
    lines = []
    for _ in range(draw(st.integers(1, 8))):
        indent = " " * draw(st.integers(0, 5))
        dash = draw(st.sampled_from(["", "", "- "]))
        form = draw(st.sampled_from(["{key}: {value}", "{key}:", "{value}", "# {value}"]))
        lines.append(indent + dash + form.format(key=draw(KEYS), value=draw(VALUES)))
    return "\n".join(lines)


@given(st.one_of(blocks(), st.lists(PIECES, max_size=25).map("".join)))
@example("a: b\n# c\n  d")
@example("a:\n- b\n  c: d")
def test_the_value_is_that_of_pyyaml_or_none(text: str) -> None:
    try:
        found = simple_yaml.value(text.encode())
    except NotSimple:
        return
    try:
        expected = yaml_text.value(text.encode())
    except yaml.YAMLError as error:
        pytest.fail(f"{text!r} is {found!r} here, and not YAML: {error}")
    assert (found, text) == (expected, text)
