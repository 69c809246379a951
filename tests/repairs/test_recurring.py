"""Supplements that say the same in other words are one: for the notebook, for the undo, for the page."""

import re
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client
from pytest_django.fixtures import Settings

from notebook_app.models import Entry
from notebook_app.public import lock_notebook
from reflection_app.core.audit import Actor
from reflection_app.core.models import Project
from reflection_app.metrics.completeness_figures import recurring_supplements
from reflection_app.repairs.completeness import withdraw_what_recurred
from reflection_app.repairs.models import Supplement, SupplementGroup
from reflection_app.repairs.recurring import source_of
from reflection_app.runs.advance import advance
from reflection_app.runs.fork_input import ForkInput
from reflection_app.runs.forks import fork_run
from reflection_app.runs.models import Run, Step
from reflection_app.tasks.models import Task
from reflection_app.teams.retention import take_tasks
from tests.loops.completeness.scenes import checked
from tests.repairs.completeness import SAVE, planned_run, reading_project, supplemented
from tests.web.stories import logged_in

pytestmark = pytest.mark.django_db(transaction=True)

FIRST, AGAIN, ENGLISH = "读取第二个文件", "打开第二个文件并阅读", "Read the second file"
ANOTHER = "读取第三个文件"


def lacked(project: Project, operation: str, **submission: Any) -> Run:
    """A run that was found to lack this."""
    return supplemented(project, story(operation), **submission)


def story(operation: str) -> dict[str, Any]:
    return {"attempt-1/completeness": checked(SAVE | {"operation": operation}, missing=["第二个文件"])}


def groups_of(project: Project) -> list[list[str]]:
    """The words of each group, the oldest group and the oldest words first."""
    groups = SupplementGroup.objects.filter(project=project)
    return [list(group.supplements.order_by("created_at").values_list("operation", flat=True)) for group in groups]


def test_three_runs_that_say_it_in_three_ways_are_offered_to_the_notebook_as_one() -> None:
    project = reading_project()
    runs = [lacked(project, said) for said in (FIRST, AGAIN)]
    lacked(project, ANOTHER)
    lacked(project, AGAIN, kind="another")
    lacked(reading_project(), FIRST)
    assert not Entry.objects.exists(), "another file, another kind and another project are no evidence"

    runs.append(lacked(project, ENGLISH))
    [entry] = Entry.objects.all()
    assert (entry.name, entry.occurrences) == (FIRST, 3)
    assert entry.source == source_of("compare", Supplement.objects.get(completeness_check__run=runs[0]).operation_key)
    assert [one.refs["run"] for one in entry.evidence.all()] == [str(run.pk) for run in runs]
    assert groups_of(project) == [[FIRST, AGAIN, ENGLISH], [ANOTHER], [AGAIN]]


def test_a_group_keeps_its_name_and_its_offer_when_the_run_that_began_it_is_taken_back() -> None:
    project = reading_project()
    runs = [lacked(project, said) for said in (FIRST, AGAIN, ENGLISH, FIRST)]
    source = Entry.objects.get().source
    taken_back(runs[0])
    entry = Entry.objects.get()
    assert (entry.source, entry.occurrences) == (source, 3)
    lacked(project, FIRST)
    assert Entry.objects.get().occurrences == 4
    assert groups_of(project) == [[AGAIN, ENGLISH, FIRST, FIRST]]


def test_what_is_taken_back_counts_no_more_and_the_last_one_takes_the_group_with_it() -> None:
    project = reading_project()
    runs = [lacked(project, said) for said in (FIRST, AGAIN, ENGLISH)]
    taken_back(runs[1])
    assert not Entry.objects.filter(state="proposed").exists(), "two runs are too few for an offer"
    for run in (runs[0], runs[2]):
        taken_back(run)
    assert not SupplementGroup.objects.exists()


def taken_back(run: Run) -> None:
    """As undoing takes back the step that found it missing."""
    [one] = Supplement.objects.filter(completeness_check__run=run).select_related("group")
    Supplement.objects.filter(pk=one.pk).delete()
    with transaction.atomic():
        lock_notebook(run.project_id)
        withdraw_what_recurred(run, one)


def test_without_a_model_supplements_recur_by_their_words_alone(settings: Settings) -> None:
    settings.EMBEDDING_MODEL = "none"
    project = reading_project()
    for said in (FIRST, AGAIN, f"请{FIRST}。", ENGLISH):
        lacked(project, said)
    assert groups_of(project) == [[FIRST, f"请{FIRST}。"], [AGAIN], [ENGLISH]]
    assert not SupplementGroup.objects.filter(vector__isnull=False).exists()


def test_groups_from_before_there_was_a_model_get_their_vectors_with_the_next_checks(settings: Settings) -> None:
    project = reading_project()
    usual = settings.EMBEDDING_MODEL
    settings.EMBEDDING_MODEL = "none"
    lacked(project, FIRST)
    settings.EMBEDDING_MODEL = usual
    lacked(project, ENGLISH)
    assert groups_of(project) == [[FIRST, ENGLISH]]


def test_two_workers_with_the_same_in_other_words_make_one_group() -> None:
    project = reading_project()
    two = [planned_run(project, story(said)) for said in (FIRST, AGAIN)]

    def go(run: Run) -> None:
        try:
            advance(run.pk)
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(go, two))
    [words] = groups_of(project)
    assert set(words) == {FIRST, AGAIN}


def test_what_a_fork_lacked_is_in_no_group() -> None:
    project = reading_project()
    first = lacked(project, FIRST)
    step = Step.objects.get(run=first, key="attempt-1/completeness")
    fork = fork_run(first, ForkInput(from_step=step.seq), actor=Actor())
    advance(fork.pk)
    assert Supplement.objects.filter(completeness_check__run=fork, group=None).count() == 1
    assert groups_of(project) == [[FIRST]]


def test_deleting_the_runs_leaves_nothing_of_their_words() -> None:
    project = reading_project()
    runs = [lacked(project, FIRST), lacked(project, ANOTHER)]
    take_tasks(project.pk, Task.objects.filter(runs=runs[0].pk))
    assert groups_of(project) == [[ANOTHER]]
    assert SupplementGroup.objects.count() == 1


def test_the_page_counts_all_wordings_as_one_and_folds_the_others_beneath_it(client: Client) -> None:
    project = reading_project()
    for said in (FIRST, AGAIN, AGAIN, ENGLISH):
        run = lacked(project, said)
    [one] = recurring_supplements(project.pk)
    assert (one.operation, one.runs, one.found, one.reworded) == (FIRST, 4, 4, 2)
    assert [(wording.operation, wording.runs) for wording in one.wordings] == [(AGAIN, 2), (ENGLISH, 1)]

    page = logged_in(client, run.project).get(f"/p/{project.slug}/completeness/").text
    assert "offered to the notebook: proposed" in page
    folded = re.search(r"<details class=\"more other-words\">.*?</details>", page, re.DOTALL)
    assert folded is not None
    told = " ".join(re.sub(r"<[^>]+>", " ", folded[0]).split())
    assert told == f"Also in 2 other wordings {AGAIN} in 2 runs {ENGLISH} in 1 run"


def test_a_supplement_with_a_thousand_wordings_tells_the_most_frequent_ones() -> None:
    project = reading_project()
    run, other = lacked(project, FIRST), lacked(project, FIRST)
    group = SupplementGroup.objects.get()
    checks = [Supplement.objects.get(completeness_check__run=one).completeness_check for one in (run, other)]
    Supplement.objects.bulk_create(
        Supplement(
            project=project,
            completeness_check=check,
            number=number,
            task_kind="compare",
            operation=f"wording {number}",
            operation_key=f"wording {number}",
            group=group,
        )
        for check in checks
        for number in range(2, 1_002)
        if check == checks[0] or number == 500
    )
    [one] = recurring_supplements(project.pk)
    assert (one.operation, one.runs, one.reworded, len(one.wordings)) == (FIRST, 2, 1_000, 10)
    assert (one.wordings[0].operation, one.wordings[0].runs) == ("wording 500", 2)


def test_supplements_from_before_are_grouped_by_their_words_under_the_names_that_the_notebook_has() -> None:
    project = reading_project()
    runs = [lacked(project, said) for said in (FIRST, AGAIN, f"请{FIRST}。")]
    step = Step.objects.get(run=runs[0], key="attempt-1/completeness")
    advance(fork_run(runs[0], ForkInput(from_step=step.seq), actor=Actor()).pk)
    SupplementGroup.objects.all().delete()
    migration = import_module("reflection_app.migrations.0036_recurring_by_meaning")
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(migration.GROUP)
    assert groups_of(project) == [[FIRST, f"请{FIRST}。"], [AGAIN]]
    for one in Supplement.objects.filter(group__isnull=False).select_related("group"):
        assert one.group is not None
        assert one.group.source == source_of("compare", one.operation_key)
