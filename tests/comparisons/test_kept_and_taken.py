"""Pairs go with what they hold, and come along with their project."""

from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from reflection_app.comparisons.claiming import claim_next
from reflection_app.comparisons.models import Pair, PairJudgement, Preference
from reflection_app.core.audit import Actor
from reflection_app.loops.project_settings import RetentionSettings
from reflection_app.teams.archive.importing import Wishes, import_project
from reflection_app.teams.retention import carry_out_retention, change_retention, order_retention, preview_retention
from tests import given
from tests.comparisons.pairs import claimed, judge_of, make_set, said
from tests.teams.archive.archives import everybody, written

pytestmark = pytest.mark.django_db(transaction=True)


def test_what_people_said_comes_along_and_they_are_known_again(tmp_path: Path) -> None:
    project = given.project()
    make_set(project, 2, wanted=2)
    anna = judge_of(project)
    done = said(claimed(project, actor=anna), Preference.LEFT, actor=anna, reason="Why")
    claimed(project, actor=anna)
    path = tmp_path / "project.zip"
    path.write_bytes(written(project))
    copy = import_project(path, Wishes(slug="copy", people=everybody()), actor=Actor()).project
    (kept,) = PairJudgement.objects.filter(project=copy)
    assert (kept.choice, kept.left, kept.reason, kept.person) == (done.choice, done.left, "Why", anna.person_id)
    assert Pair.objects.filter(project=copy).count() == 2
    seat = claim_next(copy, actor=anna)
    assert seat is not None
    assert seat.pair_id != kept.pair_id


def test_what_a_pipeline_handed_in_goes_after_the_days_of_runs() -> None:
    project = given.project()
    make_set(project, 2)
    Pair.objects.filter(pk=Pair.objects.earliest("id").pk).update(created_at=timezone.now() - timedelta(days=31))
    settings = RetentionSettings(runs_days=30)
    due = {one.kind: one.due for one in preview_retention(project, settings, now=timezone.now())}
    assert due["pairs"] == 1
    change_retention(project, settings, actor=Actor())
    carry_out_retention(order_retention(project, actor=Actor()).pk)
    assert Pair.objects.count() == 1
