"""For every test: hypothesis draws the same in each run, and a busy machine is no fault.

`pytest --hypothesis-profile=default` draws anew.
"""

import hypothesis

hypothesis.settings.load_profile("ci")
