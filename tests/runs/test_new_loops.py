"""Data and adaptive runs through the real runner, with a scripted model."""

from typing import Any

import pytest
from django.test import Client

from reflection_app.runs.models import Attempt, Run, Step
from tests import given
from tests.runs.critiques import critique
from tests.runs.forking import advanced

pytestmark = pytest.mark.django_db


def page(client: Client, run: Run) -> str:
    member = given.logged_in(client, run.project)
    return member.get(f"/p/{run.project.slug}/runs/{run.pk}/").text


def attempts_of(run: Run) -> list[dict[str, Any]]:
    return list(given.caller(run.project).get(f"runs/{run.pk}/attempts").body["results"])


def test_reasoning_in_a_layout_of_the_models_own_is_told_from_its_answer(client: Client) -> None:
    answer = f"<think>\nFirst this. {given.HOSTILE}\n\nThen that.\n</think>\n\n**the work**"
    answers = {"attempt-1/answer": answer, "attempt-1/critique": critique(90, approved=True)}
    project = given.project(review_policy={"audit_share": 0})
    run = advanced(given.scripted_run(answers, project=project, kind="creative_writing", chain_of_thought=True))
    text = page(client, run)
    assert "<strong>the work</strong>" in text
    assert "Then that." in text
    assert "<script>alert" not in text
    thought = attempts_of(run)[0]["thought"]
    assert thought == {"steps": [f"First this. {given.HOSTILE}", "Then that."], "answer": "**the work**", "parts": {}}
    made = Step.objects.get(run=run, key="attempt-1/answer")
    assert made.result is not None
    Step.objects.filter(pk=made.pk).update(result=made.result | {"reasoning": "Told beside it."})
    # A row of before parts were stored.
    Attempt.objects.filter(run=run).update(stored_thought=None)
    assert attempts_of(run)[0]["thought"]["steps"][0] == "Told beside it."
    plain = advanced(given.scripted_run(answers, project=project, kind="creative_writing"))
    assert attempts_of(plain)[0]["thought"] is None


def test_the_parts_of_an_attempt_are_read_once_and_stored(client: Client) -> None:
    answers = {"attempt-1/answer": "## Plan\nfirst\n## Execute\nthe work"}
    answers["attempt-1/critique"] = critique(90, approved=True)
    project = given.project(review_policy={"audit_share": 0})
    asked = advanced(given.scripted_run(answers, project=project, kind="creative_writing", chain_of_thought=True))
    plain = advanced(given.scripted_run(answers, project=project, kind="creative_writing"))
    Attempt.objects.filter(run__in=[asked, plain]).update(content="## Plan\nother\n## Execute\nother")
    assert attempts_of(asked)[0]["thought"]["parts"]["plan"] == "first"
    assert "the work" in page(client, asked)
    assert attempts_of(plain)[0]["thought"] is None
