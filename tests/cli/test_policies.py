"""`lading policies`, as a user types it."""

import pytest
import yaml
from click.testing import CliRunner

from lading.cli.main import lading_command


@pytest.mark.parametrize("option", ["--namespace", "--agent-namespace"])
@pytest.mark.parametrize("name", ["x y", "", "Team", "-a", "a'", "a" * 254])
def test_a_name_that_cannot_exist_is_refused(option: str, name: str) -> None:
    answer = CliRunner().invoke(lading_command, ["policies", option, name])
    assert answer.exit_code == 2
    assert "is not a valid name: expected lower-case letters" in answer.output


def test_the_policies_have_the_names_that_were_given() -> None:
    names = ["-n", "team.images", "--agent-namespace", "team.agents"]
    answer = CliRunner().invoke(lading_command, ["policies", *names])
    assert answer.exit_code == 0
    assert "system:serviceaccount:team.agents:lading-agent" in answer.output
    references = [
        one["spec"]["paramRef"]
        for one in yaml.safe_load_all(answer.output)
        if one["kind"] == "ValidatingAdmissionPolicyBinding" and "paramRef" in one["spec"]
    ]
    assert {one["namespace"] for one in references if "namespace" in one} == {"team.images"}
    assert "system:serviceaccount:team.images:lading-controller" in answer.output
