"""Draws are recorded once, counted once, and settled, whoever else is at it in the same moment."""

from functools import partial
from random import Random
from uuid import UUID, uuid4

import pytest
from django.db import transaction
from django.utils import timezone

from notebook_app.changing import lock_notebook, lock_rows
from notebook_app.curation import retire
from notebook_app.exposures import earlier_draws, settle, sum_recalls, withhold
from notebook_app.kinds import DESK
from notebook_app.lift_list import exposures_of
from notebook_app.models import Entry, Exposure
from tests.notebook.exposed import approved_lesson, draw, found, row_of
from tests.reviews.test_reviews import together

pytestmark = pytest.mark.django_db


@pytest.fixture
def project_id() -> UUID:
    return uuid4()


def test_each_lesson_is_drawn_for_by_itself(project_id: UUID) -> None:
    lessons = [approved_lesson(project_id) for _ in range(3)]
    draws = iter([0.09, 0.1, 0.5])
    drawn = withhold([found(lesson, 0.7) for lesson in lessons], share=0.1, chance=lambda: next(draws))
    assert [(one.entry_id, one.rank, one.draw, one.is_withheld) for one in drawn] == [
        (lessons[0].id, 1, 0.09, True),
        (lessons[1].id, 2, 0.1, False),
        (lessons[2].id, 3, 0.5, False),
    ]
    assert {(one.share, one.score, one.entry_version) for one in drawn} == {(0.1, 0.7, 1)}


def test_about_its_share_is_withheld_and_no_lesson_tells_of_another(project_id: UUID) -> None:
    lessons = [found(approved_lesson(project_id), 1.0) for _ in range(2)]
    chance = Random(4)
    rounds = [withhold(lessons, share=0.3, chance=chance.random) for _ in range(4_000)]
    first, second = ([one[place].is_withheld for one in rounds] for place in (0, 1))
    both = sum(a and b for a, b in zip(first, second, strict=True)) / len(rounds)
    assert sum(first) / len(rounds) == pytest.approx(0.3, abs=0.03)
    assert both == pytest.approx(0.09, abs=0.02)
    assert not any(one.is_withheld for one in withhold(lessons, share=0.0, chance=lambda: 0.0))


def test_what_was_given_is_counted_once_and_what_was_withheld_never(project_id: UUID) -> None:
    given, withheld = approved_lesson(project_id), approved_lesson(project_id)
    before = timezone.now()
    for draws in ([0.5, 0.05], [0.01, 0.9]):
        # The second draw comes too late: the first stands.
        draw(project_id, "run", [given, withheld], draws=draws)
    kept = earlier_draws(project_id, "run", [given.id, withheld.id, uuid4()])
    assert {key: (one.draw, one.is_withheld) for key, one in kept.items()} == {
        given.id: (0.5, False),
        withheld.id: (0.05, True),
    }
    row = row_of(given)
    assert row.recalled == 1
    assert row.last_recalled_at is not None
    assert row.last_recalled_at >= before
    assert (row_of(withheld).recalled, row_of(withheld).last_recalled_at) == (0, None)
    draw(project_id, "another run", [given], draws=[0.5])
    assert row_of(given).recalled == 2


def test_another_projects_lesson_is_neither_recorded_nor_counted(project_id: UUID) -> None:
    other = approved_lesson(uuid4())
    draw(project_id, "run", [other], draws=[0.5])
    assert not Exposure.objects.exists()
    assert row_of(other).recalled == 0


def test_what_is_recalled_after_the_outcome_is_known_does_not_count(project_id: UUID) -> None:
    first, late = approved_lesson(project_id), approved_lesson(project_id)
    draw(project_id, "run", [first], draws=[0.5])
    assert settle(project_id, subject="run", succeeded=True) == 1
    draw(project_id, "run", [late], draws=[0.5])
    assert [one.is_counted for one in exposures_of(project_id, first.id, limit=5).exposures] == [True]
    assert [one.is_counted for one in exposures_of(project_id, late.id, limit=5).exposures] == [False]


def test_an_outcome_is_settled_corrected_and_taken_back(project_id: UUID) -> None:
    lesson = approved_lesson(project_id)
    draw(project_id, "run", [lesson], draws=[0.5])
    draw(project_id, "other", [lesson], draws=[0.5])
    assert settle(project_id, subject="nobody", succeeded=True) == 0
    assert settle(uuid4(), subject="run", succeeded=True) == 0
    settle(project_id, subject="run", succeeded=True)
    first = Exposure.objects.get(subject="run")
    settle(project_id, subject="run", succeeded=False)
    second = Exposure.objects.get(subject="run")
    # A correction keeps its place among the outcomes.
    assert (first.succeeded, second.succeeded) == (True, False)
    assert first.settled_at == second.settled_at is not None
    settle(project_id, subject="run", succeeded=None)
    last = Exposure.objects.get(subject="run")
    assert (last.succeeded, last.settled_at) == (None, None)
    assert Exposure.objects.get(subject="other").succeeded is None


@pytest.mark.django_db(transaction=True)
def test_many_at_once_record_each_draw_once(project_id: UUID) -> None:
    lessons = [approved_lesson(project_id) for _ in range(6)]
    chance = Random(8)

    def recall(number: int) -> None:
        """Two workers for each of four runs, with draws and orders of their own."""
        mine = list(lessons)
        chance.shuffle(mine)
        draw(project_id, f"run {number % 4}", mine, draws=[chance.random() for _ in mine])

    assert together(*(partial(recall, number) for number in range(8))) == [None] * 8
    rows = list(Exposure.objects.all())
    assert len(rows) == 4 * len(lessons)
    for lesson in lessons:
        given = sum(not row.is_withheld for row in rows if row.entry_id == lesson.id)
        assert row_of(lesson).recalled == given


@pytest.mark.django_db(transaction=True)
def test_curators_and_recalls_at_once_wait_for_nobody_in_a_circle(project_id: UUID) -> None:
    lessons = [approved_lesson(project_id) for _ in range(4)]

    def recall(number: int) -> None:
        for round_ in range(5):
            draw(project_id, f"run {number} {round_}", lessons, draws=[0.5] * 4)
            settle(project_id, subject=f"run {number} {round_}", succeeded=True)

    def curate(lesson: Entry) -> None:
        retire(project_id, lesson.id, by=DESK, reason="Wrong.")

    work = [partial(recall, number) for number in range(4)] + [partial(curate, lesson) for lesson in reversed(lessons)]
    assert together(*work) == [None] * 8
    assert [(row_of(lesson).recalled, row_of(lesson).state) for lesson in lessons] == [(20, "retired")] * 4


def test_exposures_are_listed_page_by_page_of_ones_own_project_alone(project_id: UUID) -> None:
    lesson = approved_lesson(project_id)
    for number in range(5):
        draw(project_id, f"run {number}", [lesson], draws=[0.5])
    first = exposures_of(project_id, lesson.id, limit=3)
    rest = exposures_of(project_id, lesson.id, limit=3, after=first.last)
    assert [one.subject for one in first.exposures + rest.exposures] == [f"run {number}" for number in (4, 3, 2, 1, 0)]
    assert rest.last is None
    assert exposures_of(uuid4(), lesson.id, limit=3).exposures == []


@pytest.mark.django_db(transaction=True)
def test_what_is_summed_up_by_several_at_once_is_counted_once(project_id: UUID) -> None:
    lessons = [approved_lesson(project_id) for _ in range(3)]
    for number in range(30):
        draw(project_id, f"run {number}", lessons, draws=[0.5, 0.05, 0.5])
    summed = together(*[sum_recalls] * 4)
    assert sum(int(str(one)) for one in summed) == 60
    assert sum_recalls() == 0
    assert [row_of(lesson).recalled for lesson in lessons] == [30, 0, 30]
    newest = Exposure.objects.filter(entry=lessons[0].id).latest("created_at")
    assert row_of(lessons[0]).last_recalled_at == newest.created_at


@pytest.mark.django_db(transaction=True)
def test_draws_wait_for_nobody_who_works_on_the_notebook(project_id: UUID) -> None:
    lessons = [approved_lesson(project_id) for _ in range(2)]
    with transaction.atomic():
        lock_notebook(project_id)
        lock_rows(project_id, [lesson.id for lesson in lessons])
        together(lambda: draw(project_id, "run", lessons, draws=[0.5, 0.5]))
    assert Exposure.objects.count() == 2
