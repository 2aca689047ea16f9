import pytest

from lading.kernel.values import Redacted, replace


class Login(Redacted, frozen=True, kw_only=True):
    shown = ("user",)

    user: str
    password: str


class Passwords(Redacted, frozen=True):
    password_by_user: dict[str, str]


LOGIN = Login(user="carol", password="s3cret")


def test_only_the_fields_that_are_named_are_shown() -> None:
    assert repr(LOGIN) == str(LOGIN) == "Login(user='carol')"
    assert f"{[LOGIN]}" == "[Login(user='carol')]"
    assert repr(Passwords({"carol": "s3cret"})) == "Passwords()"


def test_what_is_not_shown_is_compared_and_copied() -> None:
    other = replace(LOGIN, password="other")
    assert other != LOGIN
    assert (other.user, other.password) == ("carol", "other")
    assert replace(other, password="s3cret") == LOGIN


def test_a_value_does_not_change() -> None:
    with pytest.raises(AttributeError):
        LOGIN.password = ""  # type: ignore[misc]
