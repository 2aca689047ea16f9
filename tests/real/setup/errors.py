"""The one error of the set-up and of the bed: something this machine lacks.

Its text says what is missing, for what, and what to do; it is shown as it is.
"""


class MissingOnThisMachine(Exception):
    """Something that only the person at this machine can provide."""
