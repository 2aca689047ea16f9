"""For every test: hypothesis draws the same inputs in each run, and a busy machine is no failure.

`make fuzz` draws new inputs from a seed that it prints.
"""

import hypothesis

FUZZ_EXAMPLES = 1_000  # the ordinary number is 100

hypothesis.settings.register_profile(
    "fuzz",
    parent=hypothesis.settings.get_profile("ci"),
    derandomize=False,
    max_examples=FUZZ_EXAMPLES,
)
hypothesis.settings.load_profile("ci")
