"""What cannot be forked, or not so, and what may be edited of a route."""

from typing import Any

import pytest

from reflection_app.core.errors import CannotFork, InvalidInput
from reflection_app.loops.task_spec import Mode
from reflection_app.reviews.models import Review
from reflection_app.runs.models import Run, Step
from tests import given
from tests.runs.forking import TWICE, advanced, forked, kept, step_of, text_run

pytestmark = pytest.mark.django_db


NONSENSE: list[tuple[int, dict[str, Any], str]] = [
    (10, {}, "from_step"),
    (8, {"result": {"verdict": "PASS"}}, "from_step"),
    (3, {"result": {"verdict": "MAYBE"}}, "result.verdict"),
    (3, {"result": {"score": 101}}, "result.score"),
    (3, {"result": {"opinion": "good"}}, "result.opinion"),
    (3, {"result": {"attempt": 2}}, "result.attempt"),
    (3, {"result": {"referee": "nobody"}}, "result.referee"),
    (3, {"result": {"issues": [{"description": ""}]}}, "result.issues.0.description"),
    (1, {"result": {"text": 7}}, "result.text"),
    (3, {"messages": [{"role": "user", "content": "x"}]}, "messages"),
]


def test_what_makes_no_sense_is_refused_and_named() -> None:
    parent = text_run()
    for from_step, wanted, field in NONSENSE:
        with pytest.raises(InvalidInput) as refusal:
            forked(parent, from_step, **wanted)
        assert [error["field"] for error in refusal.value.errors] == [field]
    assert not Run.objects.filter(parent=parent).exists()


def test_a_random_draw_cannot_be_edited() -> None:
    run = given.scripted_run(TWICE, mode="actor_critic")
    # Scripted runs draw none by themselves.
    run.spec["review_policy"]["audit_share"] = 1.0
    run.save()
    advanced(run)
    draw = step_of(run, "attempt-1/audit-draw")
    with pytest.raises(InvalidInput, match="no fork was created") as refusal:
        forked(run, draw.seq, result={"value": 0.9})
    assert refusal.value.errors[0]["field"] == "result"
    # What was put up for an audit stays the parent's: the fork asks nobody again.
    child = advanced(forked(run, run.steps.count() + 1))
    assert Review.objects.filter(run=run).exists()
    assert not Review.objects.filter(run=child).exists()


def test_a_session_of_an_agent_has_no_forks() -> None:
    run = text_run()
    Run.objects.filter(pk=run.pk).update(mode=Mode.INLINE_REFLECTION)
    with pytest.raises(CannotFork, match="session"):
        forked(run, 1)


def test_a_route_can_be_edited() -> None:
    routed = {"classify": '{"task_type": "creative_writing"}'}
    parent = text_run(routed | TWICE, mode="adaptive")
    chosen = Step.objects.get(run=parent, kind="choose_loop")
    assert (parent.outcome, parent.mode) == ("succeeded", "actor_critic")
    inherited = forked(parent, chosen.seq + 1)
    assert inherited.mode == "actor_critic"
    other = forked(parent, chosen.seq, result={"mode": "reflexion"})
    assert other.mode == "reflexion"
    assert advanced(other).steps.filter(key__contains="critique").count() == 0
    for mode in ("adaptive", "inline_reflection", "nothing"):
        with pytest.raises(InvalidInput):
            forked(parent, chosen.seq, result={"mode": mode})


CHECKED = {
    "tests/write": "```python\n" + "\n".join(f"assert f({n}) == {n + 1}" for n in (1, 5, 6, 7, 8)) + "\n```",
    "attempt-1/answer": given.WRONG,
    "attempt-2/answer": given.RIGHT,
}


def picked_run() -> Run:
    """A finished run whose rewrite passes the tests of a model and is not kept for that, with nobody asked."""
    project = given.project(review_policy={"audit_share": 0, "unsettled_waits": False})
    objective = "def f(x: int) -> int: the next number"
    return advanced(given.scripted_run(CHECKED, project=project, objective=objective, kind="code_generation"))


def test_an_edited_pick_decides_how_the_fork_ends() -> None:
    parent = picked_run()
    assert (parent.outcome, kept(parent)[1]) == ("unverified", 1)
    at = step_of(parent, "attempt-2/pick").seq
    settled = forked(parent, at, result={"settled": True})
    assert advanced(settled).outcome == "unverified"
    cleared = forked(parent, at, result={"attempt": 2, "settled": True, "against": []})
    assert (advanced(cleared).outcome, kept(cleared)[1]) == ("succeeded", 2)
    first = forked(parent, step_of(parent, "attempt-1/pick").seq, result={"try_again": False})
    assert (advanced(first).outcome, first.attempts_made, kept(first)[1]) == ("unverified", 1, 1)


def test_a_ticket_is_edited_only_where_somebody_reads_it() -> None:
    parent = text_run()
    [ticket] = Step.objects.filter(run=parent, kind="issue_ticket")
    with pytest.raises(InvalidInput) as refusal:
        forked(parent, ticket.seq, result={"quality_score": 45})
    assert "edit the verdict instead" in refusal.value.errors[0]["message"]


def test_an_edited_ticket_sends_the_same_attempt_back() -> None:
    parent = text_run(mode="reflection_protocol")
    ticket = Step.objects.filter(run=parent, kind="issue_ticket").first()
    assert ticket is not None
    with pytest.raises(InvalidInput) as refusal:
        forked(parent, ticket.seq, result={"attempt": 7})
    assert [error["field"] for error in refusal.value.errors] == ["result.attempt"]
    assert forked(parent, ticket.seq, result={"quality_score": 45}).forked_from_step == ticket.seq
