"""Runs the steps of a scenario with one kubectl on one server: its output and exit codes.

The text of refusals (standard error) is not recorded: it may differ.
"""

import os
import pathlib
import re
import subprocess
import time
from dataclasses import dataclass

from tests.real.differential import normal
from tests.real.differential.scenarios import Scenario, Step
from tests.real.setup import binaries

ROOT = pathlib.Path(__file__).parents[3]
"""Where kubectl runs, so that commands can name files of the repository."""
STEP_SECONDS_MAX = 90
POLL_SECONDS = 0.2
Transcript = dict[str, list[str]]
"""The lines that each step printed, by the step's title."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kubectl:
    kubeconfig: pathlib.Path
    folder: pathlib.Path
    """For its caches and temporary files."""

    def run(
        self, *arguments: str, stdin: str = "", editor: str = ""
    ) -> subprocess.CompletedProcess[str]:
        program = binaries.built("kubernetes", "kubectl")
        settings = {"HOME": str(self.folder), "KUBECONFIG": str(self.kubeconfig), "KUBERC": "off"}
        return subprocess.run(
            [program, *arguments],
            cwd=ROOT,
            input=stdin,
            env={**os.environ, **settings, "KUBE_EDITOR": editor},
            capture_output=True,
            text=True,
            check=False,
            timeout=STEP_SECONDS_MAX,
        )


def of(scenario: Scenario, kubectl: Kubectl, namespace: str) -> Transcript:
    return {step.title: _seen(step, kubectl, namespace) for step in scenario.steps}


def _seen(step: Step, kubectl: Kubectl, namespace: str) -> list[str]:
    done = _done(step, kubectl, namespace)
    printed = normal.lines(done.stdout.replace(namespace, "$NS"))
    kept = [line for line in printed if re.search(step.keep, line)]
    return [*kept, *([f"exit code {done.returncode}"] if done.returncode else [])]


def _done(step: Step, kubectl: Kubectl, namespace: str) -> subprocess.CompletedProcess[str]:
    deadline = time.monotonic() + STEP_SECONDS_MAX
    while True:
        done = kubectl.run(
            f"--namespace={namespace}",
            *step.arguments(namespace),
            stdin=step.input(namespace),
            editor=step.editor,
        )
        if step.until_exit in (None, done.returncode) or time.monotonic() > deadline:
            return done
        time.sleep(POLL_SECONDS)
