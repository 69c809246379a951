"""Questions on the pages: in the queue, on the run's page, and on their own."""

import pytest
from django.test import Client

from reflection_app.loops.questions import Choice, QuestionKind
from reflection_app.loops.questions import Question as Asked
from reflection_app.runs.models import Run, RunState
from tests import given
from tests.runs.questions import waiting_question

pytestmark = pytest.mark.django_db


def test_a_question_is_found_in_the_queue_and_answered(client: Client) -> None:
    project = given.project("asked")
    given.logged_in(client, project)
    question = waiting_question(project)
    address = f"/p/asked/questions/{question.pk}/"
    for page in ("/p/asked/reviews/", f"/p/asked/runs/{question.run_id}/"):
        assert address in client.get(page).content.decode()
    assert "现在的关税是多少" in client.get(address).content.decode()

    answered = client.post(f"{address}answer/", {"choice": "answer", "text": "4.2 %"})
    assert answered["Location"] == f"/p/asked/runs/{question.run_id}/"
    assert Run.objects.get().state == RunState.QUEUED
    assert "4.2 %" in client.get(address).content.decode()
    late = client.post(f"{address}answer/", {"choice": "answer", "text": "5 %"})
    assert late.status_code == 409
    assert "has already answered this. Nothing was changed." in late.content.decode()


def test_hostile_text_is_shown_as_text(client: Client) -> None:
    project = given.project("hostile")
    given.logged_in(client, project)
    asked = Asked(kind=QuestionKind.REPAIR, text=given.HOSTILE, context=(given.HOSTILE,), choices=(Choice.ANSWER,))
    question = waiting_question(project, asked)
    for page in (f"/p/hostile/questions/{question.pk}/", "/p/hostile/reviews/", f"/p/hostile/runs/{question.run_id}/"):
        shown = client.get(page).content.decode()
        assert "<script>alert" not in shown
        assert "<img src=x" not in shown
