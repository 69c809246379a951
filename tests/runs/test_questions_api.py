"""Questions over REST."""

import pytest

from reflection_app.runs.models import Run, RunState
from tests.api.caller import Caller, assert_problem
from tests.runs.questions import KNOWLEDGE, waiting_question

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_open_question_is_listed_and_answered(caller: Caller) -> None:
    question = waiting_question(caller.project)
    (listed,) = caller.get("questions", state="open").body["results"]
    assert (listed["id"], listed["kind"], listed["text"]) == (str(question.pk), "knowledge", KNOWLEDGE.text)
    assert (listed["choices"], listed["choice"]) == (["answer", "skip"], None)

    answered = caller.post(f"questions/{question.pk}/answer", {"choice": "answer", "text": "4.2 %"})
    assert answered.status == 200
    assert (answered.body["state"], answered.body["answer"]) == ("answered", "4.2 %")
    assert Run.objects.get().state == RunState.QUEUED
    assert caller.get("questions", state="open").body["results"] == []
    assert_problem(caller.post(f"questions/{question.pk}/answer", {"choice": "skip"}), 409)


def test_wrong_answers_name_the_field(caller: Caller) -> None:
    question = waiting_question(caller.project)
    for body, field in (({"choice": "perhaps"}, "choice"), ({}, "choice"), ({"choice": "answer"}, "text")):
        refused = caller.post(f"questions/{question.pk}/answer", body)
        assert_problem(refused, 400)
        assert [error["field"] for error in refused.body["errors"]] == [field]
    assert_problem(caller.get("questions", about="x"), 400)
