import pytest
from django.core.exceptions import ImproperlyConfigured

from reflection_app.config import env


@pytest.fixture(autouse=True)
def _documented(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(env, "DOCUMENTED", {})


def test_a_blank_variable_counts_as_unset() -> None:
    assert env.text("NAME", "default", "meaning", environ={"NAME": "  "}) == "default"


def test_every_variable_that_is_read_is_documented() -> None:
    env.number("COUNT", 3, "how many", environ={})

    assert {"COUNT": env.Variable("COUNT", "3", "how many")} == env.DOCUMENTED


def test_a_number_has_its_defaults_type() -> None:
    assert env.number("COUNT", 3, "how many", environ={"COUNT": "4"}) == 4
    assert env.number("WAIT", 3.0, "how long", environ={"WAIT": "0.5"}) == 0.5


@pytest.mark.parametrize("given", ["four", "1.5", "-1", "10"])
def test_a_wrong_number_is_refused_with_the_variables_name_and_meaning(given: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=r"^COUNT=.*how many$"):
        env.number("COUNT", 3, "how many", at_most=9, environ={"COUNT": given})


@pytest.mark.parametrize(("given", "expected"), [("yes", True), ("1", True), ("False", False), ("off", False)])
def test_a_flag_is_read_in_the_usual_spellings(given: str, *, expected: bool) -> None:
    assert env.flag("ON", default=not expected, meaning="whether", environ={"ON": given}) is expected


def test_a_flag_that_is_neither_yes_nor_no_is_refused() -> None:
    with pytest.raises(ImproperlyConfigured, match="neither yes nor no"):
        env.flag("ON", default=True, meaning="whether", environ={"ON": "maybe"})
