"""Forked at any step, the six steps, supplements and diagnoses end like their parent, whose rows stay as they were."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.db.models import Model
from django.forms.models import model_to_dict

from reflection_app.core.audit import Actor
from reflection_app.repairs.models import CompletenessCheck, Report, Supplement, Ticket, ToolFailure
from reflection_app.runs.events import Event, EventType
from reflection_app.runs.fork_input import ForkInput
from reflection_app.runs.forks import fork_run
from reflection_app.runs.models import Attempt, Question, Run, Step, Verdict
from tests import given
from tests.adapters.outgoing.conftest import loopback
from tests.adapters.outgoing.server import RawServer, Reply
from tests.pace import PATIENCE_S
from tests.runs.forking import advanced, forked, kept, text_run
from tests.runs.test_crashes_of_new_rows import STORIES, Story, a_project, driven

__all__ = ["loopback"]

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("loopback")]

OF_RUN = (Attempt, CompletenessCheck, Question, Report, Step, Ticket, ToolFailure)


class Replies:
    """The story's replies of the tool, to be begun anew at any of them."""

    def __init__(self, story: Story) -> None:
        self.all = story.replies
        self.left: Iterator[Reply] = iter(self.all)

    def begin_at(self, number: int) -> None:
        self.left = iter(self.all[number:])

    def __call__(self, heard: Any, connection: Any) -> None:
        next(self.left, self.all[-1])(heard, connection)


def rows_of(run: Run) -> list[dict[str, Any]]:
    rows: list[Model] = [row for model in OF_RUN for row in model.objects.filter(run=run).order_by("pk")]
    rows += Verdict.objects.filter(attempt__run=run).order_by("pk")
    rows += Supplement.objects.filter(completeness_check__run=run).order_by("pk")
    return [model_to_dict(row) | {"pk": row.pk} for row in rows]


def ending_of(run: Run) -> tuple[Any, ...]:
    attempts = list(Attempt.objects.filter(run=run).values_list("number", "content"))
    keys = list(Step.objects.filter(run=run).values_list("key", "kind", "state"))
    return run.outcome, run.best_attempt and run.best_attempt.number, attempts, keys


@pytest.mark.exhaustive("forks at every step of every story")
@pytest.mark.parametrize("name", STORIES)
def test_forked_at_any_step_it_ends_like_its_parent_and_no_row_of_the_parent_changes(name: str) -> None:
    story = STORIES[name]
    replies = Replies(story)
    with RawServer(replies) as server:
        project = a_project(story, f"{server.url}/weather")
        parent = driven(given.scripted_run(story.answers, project=project, **story.task))
        expected, rows = ending_of(parent), rows_of(parent)
        steps = list(Step.objects.filter(run=parent).order_by("seq"))
        for seq in range(1, len(steps) + 2):
            replies.begin_at(sum(step.kind == "call_tool" for step in steps[: seq - 1]))
            child = driven(fork_run(parent, ForkInput(from_step=seq), actor=Actor()))
            assert ending_of(child) == expected, f"forked from step {seq}: {child.error}"
            assert rows_of(parent) == rows, f"forked from step {seq}"


def test_two_forks_at_once_are_two_runs() -> None:
    parent = text_run()
    both = threading.Barrier(2)

    def fork() -> None:
        try:
            both.wait(timeout=PATIENCE_S)
            forked(parent, 3)
        finally:
            connection.close()

    threads = [threading.Thread(target=fork) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    children = list(Run.objects.filter(parent=parent))
    assert len(children) == 2
    for child in children:
        assert kept(advanced(child)) == kept(parent)
    told = Event.objects.filter(run=parent, type=EventType.RUN_FORKED)
    assert {event.payload["fork"] for event in told} == {str(child.pk) for child in children}
    seqs = list(Event.objects.filter(run=parent).order_by("seq").values_list("seq", flat=True))
    assert seqs == list(range(1, len(seqs) + 1))
