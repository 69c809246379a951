"""The figures of the review desk: of decisions that people really made, and of rows with known times."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from reflection_app.core.audit import Actor
from reflection_app.core.models import Project, Role
from reflection_app.loops.attempt_effects import Decision, ReviewReason
from reflection_app.loops.verdicts import Referee, Verdict
from reflection_app.metrics.definitions import Chosen
from reflection_app.metrics.figuring import figure_due
from reflection_app.metrics.review_figures import ReviewFigures, review_figures
from reflection_app.metrics.runs_behind import runs_behind_reviews
from reflection_app.reviews.models import Review, ReviewState
from reflection_app.runs.models import Run, Step
from tests import given
from tests.metrics.recorded import Rows, begin
from tests.reviews.panels import adjudication, open_panel, panel_project, people, say
from tests.reviews.undoing import claimed, decide, gone_on

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)
DAY = NOW.date()


def on(days: int = 1, **more: Any) -> Chosen:
    return Chosen(since=DAY - timedelta(days=days - 1), until=DAY, **more)


def review(project: Project, *, took_s: float | None = 60, rows: Rows | None = None, **fields: Any) -> Review:
    """Of a critic's verdict, decided at NOW after so long; waiting since then where that is None."""
    overruled, model = fields.pop("overruled", False), fields.pop("critic", "openai/critic")
    at, since = fields.pop("at", NOW), fields.pop("since", None)
    rows = rows or begin(project, **{name: fields.pop(name) for name in ("agent", "parent") if name in fields})
    made = rows.attempt(1, model="openai/actor")
    rows.call("attempt-1/critique", "critic", attempt=1, model=model)
    verdict = rows.verdict(made, fields.pop("referee", Referee.CRITIC), Verdict.PASS, 80)
    decided: dict[str, Any] = {"state": ReviewState.WAITING}
    if took_s is not None:
        since = at - timedelta(seconds=took_s)
        decided = {
            "state": ReviewState.DECIDED,
            "decision": (Decision.OVERRULE if overruled else Decision.APPROVE).value,
            "decided_at": at,
            "decided_by_label": fields.pop("by", "anna"),
            "decided_verdict": verdict,
        }
    kept = Review.objects.create(
        project=project,
        run=rows.run,
        attempt=made,
        verdict=verdict,
        holds_run=True,
        **{"reason": ReviewReason.AUDIT.value} | decided | fields,
    )
    Review.objects.filter(pk=kept.pk).update(created_at=since or at)
    return kept


def figures(project: Project, chosen: Chosen | None = None) -> ReviewFigures:
    return review_figures(project.pk, chosen or on(), now=NOW)


def values(found: ReviewFigures) -> dict[str, float | None]:
    return {name: figure.value for name, figure in found.figures.items()}


def test_percentiles_lie_between_the_two_nearest_times(project: Project) -> None:
    for number in range(1, 6):
        review(project, took_s=number * 100, overruled=number == 1)
    assert values(figures(project)) == {
        "queue_length": 0,
        "oldest_age_s": None,
        "overdue": None,
        "decided": 5,
        "overrule_rate": 0.2,
        "time_to_decision_p50_s": 300,
        "time_to_decision_p95_s": pytest.approx(480),
    }


def test_the_queue_is_as_it_is_now_whatever_the_period(project: Project) -> None:
    for hours in (0.5, 1, 3, 20, 80, 24 * 30):
        review(project, took_s=None, since=NOW - timedelta(hours=hours))
    found = review_figures(
        project.pk, Chosen(since=DAY - timedelta(days=900), until=DAY - timedelta(days=800)), now=NOW
    )
    assert (values(found)["queue_length"], values(found)["oldest_age_s"]) == (6, 24 * 30 * 3600)
    assert {bar.key: bar.count for bar in found.ages} == {"1h": 2, "4h": 1, "1d": 1, "3d": 0, "1w": 1, "longer": 1}
    assert values(found)["decided"] == 0


def test_each_age_leads_to_the_runs_that_have_waited_so_long(project: Project) -> None:
    now = datetime.now(UTC)
    for hours in (0.1, 0.5, 3, 20, 24 * 30):
        review(project, took_s=None, since=now - timedelta(hours=hours))
    review(project)
    found = review_figures(project.pk, on())
    behind = {bar.key: runs_behind_reviews(project.pk, on(), "ages", bar.key).count() for bar in found.ages}
    assert behind == {bar.key: bar.count for bar in found.ages}
    assert (behind["1h"], behind["1d"], behind["longer"]) == (2, 1, 1)
    with pytest.raises(ValueError, match="ages are 1h"):
        runs_behind_reviews(project.pk, on(), "ages", "old")


def test_decisions_are_told_by_the_day_and_the_week_in_which_they_were_made(project: Project) -> None:
    review(project, took_s=10, at=NOW.replace(hour=0, minute=0))
    review(project, took_s=30, at=NOW - timedelta(days=1))
    review(project, took_s=50, at=NOW - timedelta(days=6), overruled=True)
    days = {point.start: point.figures["time_to_decision_p50_s"].value for point in figures(project, on(7)).points}
    assert {start: seconds for start, seconds in days.items() if seconds} == {
        "2026-02-26": 50,
        "2026-03-03": 30,
        "2026-03-04": 10,
    }
    weeks = {point.start: point.figures for point in figures(project, on(100)).points}
    assert (weeks["2026-03-02"]["decided"].value, weeks["2026-02-23"]["overrule_rate"].value) == (2, 1.0)
    assert figures(project).before["decided"].value == 1


def test_reviewers_and_critics_have_their_share_of_overruling(project: Project) -> None:
    for number in range(4):
        review(project, by="anna", overruled=number < 3, critic="openai/small")
    review(project, by="bob", critic="openai/large")
    review(project, by="bob", referee=Referee.TESTS, overruled=True)
    found = figures(project)
    reviewers = {one.name: (one.decided, one.overruled) for one in found.by_reviewer}
    assert reviewers == {"anna": (4, 3), "bob": (2, 1)}
    assert [(one.name, one.share.value) for one in found.by_critic] == [("openai/small", 0.75), ("openai/large", 0.0)]
    # Wilson's interval of three of four.
    assert found.by_critic[0].share.low == pytest.approx(0.3006, abs=1e-4)
    assert found.by_critic[0].share.high == pytest.approx(0.9544, abs=1e-4)
    assert found.reasons == {"audit": 6}


def test_copies_and_edits_say_nothing_of_a_critic_but_are_a_reviewers_work(project: Project) -> None:
    first = review(project, overruled=True)
    review(project, parent=first.run)
    edited = review(project)
    Step.objects.filter(made_verdict=edited.verdict).update(edited_by_label="anna")
    found = figures(project)
    assert [(one.decided, one.overruled) for one in found.by_critic] == [(1, 1)]
    assert [(one.decided, one.overruled) for one in found.by_reviewer] == [(3, 1)]


def test_a_choice_narrows_decisions_down_and_scripted_runs_are_apart(project: Project) -> None:
    review(project, agent="writer", overruled=True)
    review(project)
    scripted = review(project, by="carl")
    Run.objects.filter(pk=scripted.run_id).update(is_scripted=True)
    figure_due()
    assert values(figures(project))["decided"] == 2
    assert values(figures(project, on(agent="writer")))["overrule_rate"] == 1.0
    assert values(figures(project, on(model="openai/actor")))["decided"] == 2
    assert values(figures(project, on(mode="reflexion")))["decided"] == 0
    assert [one.name for one in figures(project, on(scripted=True)).by_reviewer] == ["carl"]
    assert values(figures(given.project()))["decided"] == 0


def today(**more: Any) -> Chosen:
    now = datetime.now(UTC).date()
    return Chosen(since=now - timedelta(days=1), until=now, scripted=True, **more)


def test_what_is_said_blindly_is_in_no_figure_before_all_have_spoken() -> None:
    project = panel_project(reviewers=2)
    panel = open_panel(project, reviewers=2)
    anna, bob = people(project, 2)
    say(panel, anna, Verdict.REVISE)
    found = review_figures(project.pk, today())
    assert (values(found)["decided"], found.by_reviewer, found.by_critic, found.reasons) == (0, (), (), {})
    assert values(found)["queue_length"] == 1
    say(panel, bob)
    # They differ: both are told, and the critic is judged once the dispute is settled.
    found = review_figures(project.pk, today())
    assert {one.name: one.overruled for one in found.by_reviewer} == {anna.label: 1, bob.label: 0}
    assert found.by_critic == ()
    judge = Actor(user=given.member(project, Role.ADMIN))
    decide(claimed(adjudication(panel), judge), judge, "overrule", verdict="REVISE", reason="It is dull.")
    found = review_figures(project.pk, today())
    assert [(one.decided, one.overruled) for one in found.by_critic] == [(1, 1)]


def test_those_who_agree_judge_a_critic_once() -> None:
    project = panel_project(reviewers=2)
    panel = open_panel(project, reviewers=2)
    for actor in people(project, 2):
        say(panel, actor)
    gone_on(panel.run)
    found = review_figures(project.pk, today())
    assert [(one.decided, one.overruled) for one in found.by_critic] == [(1, 0)]
    assert len(found.by_reviewer) == 2
