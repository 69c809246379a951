import json
import os
import subprocess
import sys
from pathlib import Path

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

    documented = env.DOCUMENTED["COUNT"]
    assert (documented.name, documented.default, documented.meaning) == ("COUNT", "3", "how many")


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


def test_a_choice_may_be_written_with_hyphens() -> None:
    among = ("off", "post_hoc")
    assert env.choice("MODE", "off", among, "when", environ={"MODE": "post-hoc"}) == "post_hoc"
    with pytest.raises(ImproperlyConfigured, match="none of off, post_hoc"):
        env.choice("MODE", "off", among, "when", environ={"MODE": "post hoc"})


def test_models_may_be_set_by_their_other_names(tmp_path: Path) -> None:
    given = {"FC_MODEL": "small", "LLM_MODEL": "mine", "REFLECTION_FC_MODEL": "strong"}
    told = (
        "from django.conf import settings as s; import json; print(json.dumps([s.LLM_MODEL, s.LLM_COMPLETENESS_MODEL]))"
    )
    clean = {name: value for name, value in os.environ.items() if not name.endswith("_MODEL")}
    environ = clean | {"DJANGO_SETTINGS_MODULE": "reflection_app.config.settings", "REFLECTION_DATA_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", told], env=environ | given, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == ["mine", "strong"]
