"""What is kept in English is read in one's own language, and nobody else's words are touched."""

from enum import Enum

import pytest
from django.utils import translation

from reflection_app.core.models import Role
from reflection_app.loops.diagnosis.diagnoses import FailureSeverity
from reflection_app.loops.graph_words import ASKED_FOR, OUTCOMES, REFEREES, EdgeKind, end_words
from reflection_app.loops.protocol.classification import NAMES
from reflection_app.loops.protocol.stages import Effort, RepairStatus
from reflection_app.loops.verdicts import IssueCategory, Outcome, Severity
from reflection_app.repairs.models import TicketState
from reflection_app.runs.models import RunState, StepState
from reflection_app.teams.projects import ROLES
from reflection_app.web.labels import LABELS, in_words
from reflection_app.web.template_filters import duration, shortened

VALUES: list[type[Enum]] = [IssueCategory, Severity, FailureSeverity, Effort, RepairStatus, EdgeKind]


def test_every_state_and_kind_that_pages_show_has_a_label() -> None:
    shown = {str(one.value).replace("_", " ") for values in VALUES for one in values}
    shown |= {str(one.label) for states in (RunState, StepState, TicketState, Role) for one in states}
    shown |= {role.capitalize() for role in ROLES} | set(NAMES.values()) | {end_words(one.value) for one in Outcome}
    shown |= set(REFEREES.values()) | set(OUTCOMES.values()) | {label for _, label in ASKED_FOR.values()}
    assert shown - LABELS == set()


@pytest.mark.parametrize("said", ["Attempt 3", "3 of 5 tests", "score 40", "failed: rejected", "led_to", "%s"])
def test_english_stays_to_the_letter(said: str) -> None:
    assert in_words(said) == said


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("Attempt 3", "第 3 次尝试"),
        ("failed: all 5 passed", "失败：5 项全部通过"),
        ("high", "高"),
        ("led_to", "引出"),
        ("Attempt three", "Attempt three"),
        ("%(number)s", "%(number)s"),
        ("x" * 5000, "x" * 5000),
    ],
)
def test_chinese_readers_read_chinese_and_others_words_as_they_are(said: str, read: str) -> None:
    with translation.override("zh-hans"):
        assert in_words(said) == read


def test_times_are_told_in_the_readers_units() -> None:
    with translation.override("zh-hans"):
        assert (duration(125), duration(0.41)) == ("2 分 5 秒", "0.4 秒")
        assert shortened("abcdef", 3) == "abc… （还有 3 个字符）"
