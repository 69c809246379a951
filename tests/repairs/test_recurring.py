"""Supplements with the same words are one: for the notebook, for the undo, for the page."""

from typing import Any

import pytest
from django.db import transaction

from notebook_app.models import Entry
from notebook_app.public import lock_notebook
from reflection_app.core.models import Project
from reflection_app.repairs.completeness import withdraw_what_recurred
from reflection_app.repairs.models import Supplement
from reflection_app.runs.models import Run
from tests.loops.completeness.scenes import checked
from tests.repairs.completeness import SAVE, reading_project, supplemented

pytestmark = pytest.mark.django_db(transaction=True)

FIRST = "读取第二个文件"


def lacked(project: Project, operation: str, **submission: Any) -> Run:
    """A run that was found to lack this."""
    return supplemented(project, story(operation), **submission)


def story(operation: str) -> dict[str, Any]:
    return {"attempt-1/completeness": checked(SAVE | {"operation": operation}, missing=["第二个文件"])}


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
