"""Supplements with the same words are one: for the notebook, for the undo, for the page."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client

from notebook_app.models import Entry
from notebook_app.public import lock_notebook
from reflection_app.core.audit import Actor
from reflection_app.core.models import Project
from reflection_app.metrics.completeness_figures import recurring_supplements
from reflection_app.repairs.completeness import source_of, withdraw_what_recurred
from reflection_app.repairs.models import Supplement
from reflection_app.runs.advance import advance
from reflection_app.runs.fork_input import ForkInput
from reflection_app.runs.forks import fork_run
from reflection_app.runs.models import Run, Step
from tests.loops.completeness.scenes import checked
from tests.repairs.completeness import SAVE, planned_run, reading_project, supplemented
from tests.web.stories import logged_in

pytestmark = pytest.mark.django_db(transaction=True)

FIRST, AGAIN = "读取第二个文件", "打开第二个文件并阅读"
ANOTHER = "读取第三个文件"


def lacked(project: Project, operation: str, **submission: Any) -> Run:
    """A run that was found to lack this."""
    return supplemented(project, story(operation), **submission)


def story(operation: str) -> dict[str, Any]:
    return {"attempt-1/completeness": checked(SAVE | {"operation": operation}, missing=["第二个文件"])}


def test_three_runs_that_say_the_same_are_offered_to_the_notebook_as_one() -> None:
    project = reading_project()
    runs = [lacked(project, said) for said in (FIRST, f"请{FIRST}。")]
    lacked(project, ANOTHER)
    lacked(project, AGAIN)
    lacked(project, FIRST, kind="another")
    lacked(reading_project(), FIRST)
    assert not Entry.objects.exists(), "other words, another kind and another project are no evidence"

    runs.append(lacked(project, FIRST))
    [entry] = Entry.objects.all()
    assert (entry.name, entry.occurrences) == (FIRST, 3)
    assert entry.source == source_of("compare", Supplement.objects.get(completeness_check__run=runs[0]).operation_key)
    assert [one.refs["run"] for one in entry.evidence.all()] == [str(run.pk) for run in runs]


def test_an_offer_is_withdrawn_with_the_second_of_four_runs() -> None:
    project = reading_project()
    runs = [lacked(project, FIRST) for _ in range(4)]
    source = Entry.objects.get().source
    taken_back(runs[0])
    entry = Entry.objects.get()
    assert (entry.source, entry.occurrences) == (source, 3)
    taken_back(runs[1])
    assert not Entry.objects.filter(state="proposed").exists(), "two runs are too few for an offer"


def taken_back(run: Run) -> None:
    """As undoing takes back the step that found it missing."""
    [one] = Supplement.objects.filter(completeness_check__run=run)
    Supplement.objects.filter(pk=one.pk).delete()
    with transaction.atomic():
        lock_notebook(run.project_id)
        withdraw_what_recurred(run, one)


def test_two_workers_with_the_same_at_once_make_one_offer() -> None:
    project = reading_project()
    lacked(project, FIRST)
    two = [planned_run(project, story(FIRST)) for _ in range(2)]

    def go(run: Run) -> None:
        try:
            advance(run.pk)
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(go, two))
    assert Entry.objects.get().occurrences == 3


def test_what_a_fork_lacked_is_no_evidence() -> None:
    project = reading_project()
    first = lacked(project, FIRST)
    step = Step.objects.get(run=first, key="attempt-1/completeness")
    for _ in range(2):
        fork = fork_run(first, ForkInput(from_step=step.seq), actor=Actor())
        advance(fork.pk)
    assert Supplement.objects.count() == 3
    assert not Entry.objects.exists()
    assert recurring_supplements(project.pk) == []


def test_the_page_counts_the_runs_under_the_words_of_the_oldest(client: Client) -> None:
    project = reading_project()
    for said in (f"请{FIRST}。", FIRST, FIRST):
        run = lacked(project, said)
    lacked(project, AGAIN)
    [one] = recurring_supplements(project.pk)
    assert (one.operation, one.runs, one.found) == (f"请{FIRST}。", 3, 3)
    assert one.source == Entry.objects.get().source

    page = logged_in(client, run.project).get(f"/p/{project.slug}/completeness/").text
    assert "offered to the notebook: proposed" in page
