"""Approved lessons and what is drawn for them, for tests."""

from collections.abc import Sequence
from itertools import count
from uuid import UUID

from notebook_app.curation import approve
from notebook_app.exposures import Drawn, record_exposures, settle, sum_recalls, withhold
from notebook_app.kinds import DESK, By
from notebook_app.models import Entry
from notebook_app.public import propose as proposed
from notebook_app.recall import RecalledEntry

_numbers = count(1)


def found(lesson: Entry, score: float) -> RecalledEntry:
    """The lesson as recall would give it."""
    return RecalledEntry(lesson, score, fits=True, words=(), likeness=None)


def approved_lesson(project_id: UUID, name: str = "", *, by: By = DESK) -> Entry:
    """A lesson that may be recalled, through the same doors as in life."""
    number = next(_numbers)
    name = name or f"Lesson {number}: check the units of what is measured"
    entry = proposed(project_id, kind="lesson", name=name, content=f"Look twice ({number}).", source=f"test/{number}")
    approve(project_id, entry.id, by=by)
    return entry


def draw(
    project_id: UUID, subject: str, lessons: Sequence[Entry], *, draws: Sequence[float], is_counted: bool = True
) -> list[Drawn]:
    """Records these draws at a share of a tenth: below it a lesson is withheld."""
    left = iter(draws)
    recalled = [found(lesson, 1 / place) for place, lesson in enumerate(lessons, start=1)]
    drawn = withhold(recalled, share=0.1, chance=lambda: next(left))
    record_exposures(project_id, subject=subject, drawn=drawn, is_counted=is_counted)
    return drawn


def fill(lesson: Entry, *, given: tuple[int, int], withheld: tuple[int, int]) -> None:
    """Outcomes as (successes, all): the arms grow evenly, as they would with a steady share."""
    for is_withheld, (successes, total) in ((False, given), (True, withheld)):
        for number in range(total):
            subject = f"work {next(_numbers)}"
            draw(lesson.project_id, subject, [lesson], draws=[0.05 if is_withheld else 0.5])
            succeeded = number * successes // total < (number + 1) * successes // total
            settle(lesson.project_id, subject=subject, succeeded=succeeded)


def row_of(lesson: Entry) -> Entry:
    """The lesson's row, read afresh, with all that it was given for summed up."""
    sum_recalls()
    return Entry.objects.get(pk=lesson.id)
