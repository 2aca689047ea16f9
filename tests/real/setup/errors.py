"""The one error of the set-up and of the bed that a person at this machine has to act on.

Its text says what is missing or failed, for what, and what to do; it is shown as it is.
"""


class CannotRunHere(Exception):
    """This machine lacks something, or refused something, that the real components need."""
