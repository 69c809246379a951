"""The Python of README.md and docs/tutorial.md, run as it stands there."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from notebook_app.models import Entry
from reflection_app.adapters.llm.scripted import register_script
from reflection_app.core.audit import Actor
from reflection_app.core.models import Role, Scope
from reflection_app.notebook.curating import approve_entry
from reflection_app.notebook.input import CurationInput
from tests import given
from tests.client.conftest import Served

pytestmark = pytest.mark.django_db(transaction=True)

BASE = Path(settings.BASE_DIR)


def blocks_of(page: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", (BASE / page).read_text(), re.MULTILINE | re.DOTALL)


def run(block: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(block, "docs", "exec"), names)
    return names


@pytest.fixture
def environment(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    scopes = (Scope.TASKS_WRITE, Scope.RUNS_READ, Scope.NOTEBOOK_READ, Scope.NOTEBOOK_WRITE)
    _key, secret = given.api_key(served.project, scopes)
    monkeypatch.setenv("DESK_URL", served.url)
    monkeypatch.setenv("DESK_KEY", secret)


@pytest.mark.usefixtures("environment")
def test_the_readme_prints_what_it_says(served: Served, capsys: pytest.CaptureFixture[str]) -> None:
    answer = "```python\ndef add(a, b):\n    return a + b\n```"
    served.project.models_by_role = {"default": register_script("readme", {"attempt-1/answer": answer})}
    served.project.save(update_fields=["models_by_role"])
    [block] = blocks_of("README.md")

    run(block.replace("http://127.0.0.1:8000", served.url))

    printed = capsys.readouterr().out.strip()
    assert printed == "succeeded 1"
    assert f"`{printed}`" in (BASE / "README.md").read_text()


@pytest.mark.usefixtures("environment")
def test_the_tutorial_leads_to_a_lesson_in_a_prompt(served: Served, capsys: pytest.CaptureFixture[str]) -> None:
    agent, lesson = blocks_of("docs/tutorial.md")
    first = run(agent)["best"]
    assert (first.outcome, first.score, first.run.attempts) == ("succeeded", 100.0, 2)
    run(lesson)
    entry = Entry.objects.get(agent="tutorial")
    approve_entry(served.project, entry.pk, CurationInput(), actor=Actor(user=given.member(served.project, Role.ADMIN)))
    capsys.readouterr()

    second = run(agent)["best"]

    assert "never a - b" in capsys.readouterr().out
    assert (second.outcome, second.run.attempts) == ("succeeded", 1)
