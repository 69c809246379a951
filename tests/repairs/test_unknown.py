"""Attempts as they are read for whether their author does not know, with what the run's record adds."""

import json
from typing import Any

import pytest
from django.utils import timezone

from reflection_app.core.models import Project
from reflection_app.loops.effects import FindSimilarIssues
from reflection_app.loops.protocol.error_classes import SimilarIssues
from reflection_app.repairs.unknown import found_nothing, read_by_meaning
from reflection_app.runs.models import Run, Step, StepState
from reflection_app.runs.performing import value_of
from tests import given
from tests.repairs.reports import begun_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> Run:
    project: Project = given.project(review_policy={"audit_share": 0})
    return begun_run(project)


def called(run: Run, tool: str, content: str, *, ok: bool = True) -> None:
    last = Step.objects.filter(run=run).order_by("-seq").values_list("seq", flat=True).first() or 0
    result: dict[str, Any] = {"ok": ok, "content": content}
    Step.objects.create(
        run=run,
        seq=last + 1,
        key=f"call-{last}",
        kind="call_tool",
        state=StepState.DONE,
        request={"tool": tool, "arguments": {}},
        result=result,
        started_at=timezone.now(),
    )


def test_the_last_call_of_each_tool_says_whether_it_found_nothing(run: Run) -> None:
    called(run, "search", "[]")
    called(run, "archive", json.dumps({"results": []}))
    called(run, "delete", "")
    called(run, "broken", "[]", ok=False)
    assert found_nothing(run.pk) == ("archive", "search")
    called(run, "search", json.dumps([{"title": "AutoGen"}]))
    assert found_nothing(run.pk) == ("archive",)


def test_an_attempt_is_read_with_its_issues(run: Run) -> None:
    effect = FindSimilarIssues(
        key="similar", attempt=1, issues=(), task="Who signed the lease?", written=("I have no idea who signed it.",)
    )
    found: SimilarIssues = value_of(effect, run_id=run.pk)
    assert found.unknown is not None
    assert found.unknown.quote == "I have no idea who signed it."


def test_without_a_model_nothing_is_read(settings: Any) -> None:
    settings.EMBEDDING_MODEL = "none"
    assert read_by_meaning(["I don't know."], task="Who signed the lease?") is None


def test_a_blank_attempt_is_not_read() -> None:
    assert read_by_meaning([" ", ""], task="Who signed the lease?") is None
