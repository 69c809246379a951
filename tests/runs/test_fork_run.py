"""Forking: what is copied, what is charged, what an edit changes, and that the parent stays as it is."""

from typing import Any

import pytest

from reflection_app.core.audit import Actor
from reflection_app.core.errors import CannotFork
from reflection_app.loops import catalogue
from reflection_app.loops.attempt_effects import Decision
from reflection_app.loops.task_spec import Mode
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.reviews.claiming import claim_review
from reflection_app.reviews.deciding import decide_review
from reflection_app.reviews.decisions import DecisionInput
from reflection_app.reviews.models import Review
from reflection_app.runs import journal_writes
from reflection_app.runs.advance import advance
from reflection_app.runs.models import Attempt, Run, RunState, Step, Verdict
from tests import given
from tests.runs.critiques import critique
from tests.runs.forking import TWICE, advanced, everything_of, forked, kept, step_of, text_run
from tests.runs.test_crashes import Killed, counted_calls, killing_after, let_lease_run_out

pytestmark = pytest.mark.django_db

# Each step's key in the run of `TWICE`.
JUDGED = ("answer", "critique", "verdict")
KEYS = [*(f"attempt-1/{part}" for part in (*JUDGED, "ticket")), *(f"attempt-2/{part}" for part in JUDGED)]


@pytest.fixture(scope="module")
def finished_twice(module_transaction: None) -> Run:
    return text_run()


@pytest.fixture
def parent(finished_twice: Run) -> Run:
    """A finished run of two attempts, the same for all tests."""
    return Run.objects.get(pk=finished_twice.pk)


@pytest.mark.parametrize("from_step", range(1, 9))
def test_a_fork_without_edits_ends_like_its_parent_and_pays_only_for_its_own_steps(parent: Run, from_step: int) -> None:
    assert [step.key for step in Step.objects.filter(run=parent)] == KEYS
    before = everything_of(parent)

    child = forked(parent, from_step)
    assert (child.state, child.parent_id, child.forked_from_step) == (RunState.QUEUED, parent.pk, from_step)
    inherited = Step.objects.filter(run=child)
    assert inherited.count() == from_step - 1
    assert all(step.is_inherited for step in inherited)
    advanced(child)

    assert kept(child) == kept(parent)
    own = [step for step in Step.objects.filter(run=child) if not step.is_inherited]
    assert child.llm_calls == sum(step.kind == "generate" for step in own)
    assert child.prompt_tokens == sum(step.prompt_tokens for step in own)
    assert child.active_s == pytest.approx(sum(step.duration_s for step in own))
    assert everything_of(parent) == before


def test_a_verdict_edited_from_revise_to_pass_ends_the_fork_at_once(parent: Run) -> None:
    person = given.member(given.project())
    child = advanced(forked(parent, 3, result={"verdict": "PASS"}, note="It was fine.", actor=Actor(user=person)))

    assert (child.outcome, child.attempts_made, child.llm_calls) == ("succeeded", 1, 0)
    assert (child.fork_note, child.forked_by_label) == ("It was fine.", person.username)
    step = step_of(child, "attempt-1/verdict")
    assert (step.is_inherited, step.edited_by_label) == (True, person.username)
    verdict = Verdict.objects.get(attempt__run=child)
    assert (verdict.verdict, verdict.referee_label, verdict.given_by, verdict.step) == ("PASS", "person", person, step)
    # The critic's score was one of a REVISE; a PASS begins at 50, and keeps none of the issues that it overrules.
    assert (verdict.score, verdict.issues, verdict.confidence) == (50.0, [], None)
    assert child.best_attempt is not None
    assert child.best_attempt.content == "first"
    assert advanced(parent).outcome == "succeeded"


def test_an_edited_verdict_is_anothers_only_where_the_editor_says_so(parent: Run) -> None:
    child = advanced(forked(parent, 3, result={"verdict": "PASS", "referee": "critic", "score": 77}))
    verdict = Verdict.objects.get(attempt__run=child)
    assert (verdict.referee_label, verdict.given_by, verdict.score) == ("critic", None, 77.0)


def test_an_edited_answer_of_the_model_is_judged_as_if_it_had_said_so() -> None:
    parent = code = advanced(
        given.code_run(mode="external_loop", answers={"attempt-1/answer": given.WRONG, "attempt-2/answer": given.RIGHT})
    )
    child = advanced(forked(code, 1, result={"text": given.RIGHT}))
    assert (child.outcome, child.attempts_made, child.llm_calls) == ("succeeded", 1, 0)
    assert Attempt.objects.get(run=child).content == given.RIGHT
    assert step_of(child, "attempt-1/answer").model == step_of(parent, "attempt-1/answer").model


def test_an_edited_prompt_is_what_the_model_is_asked(parent: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    answer = __import__("reflection_app.adapters.llm.scripted", fromlist=["x"]).answer_from_script

    def noted(request: Any, *args: Any, **kwargs: Any) -> Any:
        asked.append(request)
        return answer(request, *args, **kwargs)

    monkeypatch.setattr("reflection_app.adapters.llm.gateway.answer_from_script", noted)
    written = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Write a line."}]
    child = advanced(forked(parent, 5, messages=written))

    assert asked[0].key == "attempt-2/answer"
    assert [message.model_dump() for message in asked[0].messages] == written
    assert step_of(child, "attempt-2/answer").request["messages"] == written
    assert child.outcome == "succeeded"
    again = advanced(forked(child, 5))
    assert step_of(again, "attempt-2/answer").request["messages"] == written
    earlier = advanced(forked(child, 1))
    assert step_of(earlier, "attempt-2/answer").request["messages"] != written


def test_a_fork_can_be_forked(parent: Run) -> None:
    person = given.member(given.project())
    child = advanced(
        forked(parent, 7, result={"verdict": "REVISE", "issues": [{"description": "x"}]}, actor=Actor(user=person))
    )
    grandchild = advanced(forked(child, 8))

    assert kept(grandchild) == kept(child)
    assert grandchild.parent_id == child.pk
    edited = step_of(grandchild, "attempt-2/verdict")
    assert (edited.is_inherited, edited.edited_by_label) == (True, person.username)
    assert Verdict.objects.get(step=edited).given_by == person


def test_what_a_person_decided_is_inherited_without_the_review() -> None:
    answers = TWICE | {"attempt-1/critique": critique(10), "attempt-2/critique": critique(45)}
    run = text_run(answers)
    review = decide(run, VerdictName.REVISE, reason="Try again")
    parent = advanced(run)
    child = advanced(forked(parent, len(Step.objects.filter(run=parent)) + 1))

    assert kept(child) == kept(parent)
    assert not Review.objects.filter(run=child).exists()
    person = Verdict.objects.get(attempt__run=child, referee=6)
    assert person.given_by == review.decided_by
    assert person.step == step_of(child, "attempt-1/review")
    assert kept(advanced(forked(child, child.steps.count() + 1))) == kept(parent)


def decide(run: Run, verdict: VerdictName, *, reason: str) -> Review:
    actor = Actor(user=given.member(run.project))
    review = claim_review(Review.objects.get(run=run), actor=actor)
    assert review.lease_token is not None
    decided = DecisionInput(
        lease_token=review.lease_token, decision=Decision.OVERRULE, verdict=verdict, score=40, reason=reason
    )
    return decide_review(review, decided, actor=actor)


def test_a_review_that_waits_is_asked_anew_in_a_fork_from_an_earlier_step() -> None:
    parent = text_run(TWICE | {"attempt-1/critique": critique(10)})
    assert parent.state == RunState.WAITING_REVIEW
    child = advanced(forked(parent, 3))
    assert child.state == RunState.WAITING_REVIEW
    assert Review.objects.filter(run=child, step__run=child).count() == 1
    with pytest.raises(CannotFork, match="Step 4 is still waiting"):
        forked(parent, 4)
    with pytest.raises(CannotFork, match="Step 4 is still waiting"):
        forked(parent, 5)
    parent.refresh_from_db()
    assert parent.state == RunState.WAITING_REVIEW


def test_a_run_whose_attempts_were_used_up_goes_on_with_more() -> None:
    parent = advanced(
        given.code_run(
            mode="external_loop",
            answers={"attempt-1/answer": given.WRONG, "attempt-2/answer": given.RIGHT},
            limits={"max_iterations": 1},
        )
    )
    assert parent.outcome == "exhausted"
    child = advanced(forked(parent, 4, limits={"max_iterations": 2}))
    assert (child.outcome, child.attempts_made, child.llm_calls) == ("succeeded", 2, 1)
    assert child.get_spec().limits.max_iterations == 2


def test_a_run_that_failed_by_a_change_of_its_loop_goes_on_as_a_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    run = text_run(TWICE | {"attempt-1/critique": critique(10)})
    monkeypatch.setitem(catalogue.VERSIONS, Mode.ACTOR_CRITIC, 99)
    decide(run, VerdictName.REVISE, reason="Try again")
    failed = advanced(run)
    assert failed.outcome == "failed"
    assert "fork the run to go on" in failed.error

    child = advanced(forked(failed, failed.steps.count() + 1))
    assert (child.outcome, child.attempts_made, child.loop_version) == ("succeeded", 2, 99)
    assert child.steps.filter(is_inherited=True).count() == 4


def test_only_what_todays_loop_goes_along_with_is_copied(parent: Run) -> None:
    Step.objects.filter(run=parent, seq=6).update(key="attempt-2/what-was-asked-once")
    child = forked(parent, 8, note="Go on")

    assert child.forked_from_step == 6
    assert child.fork_note.startswith("Go on\n\nForked from step 6 instead of 8: step 6 is recorded as attempt-2/what-")
    assert advanced(child).outcome == "succeeded"
    with pytest.raises(CannotFork, match="Without an edit, the run can be forked from step 6"):
        forked(parent, 7, result={"verdict": "REVISE"})
    with pytest.raises(CannotFork, match="The edit has no place"):
        forked(parent, 6, messages=[{"role": "user", "content": "x"}])


def test_a_result_of_an_older_form_is_made_again(parent: Run) -> None:
    Step.objects.filter(run=parent, seq=3).update(result={"opinion": "fine"})
    child = forked(parent, 8)
    assert child.forked_from_step == 3
    assert "older form" in child.fork_note
    assert kept(advanced(child)) == kept(parent)


@pytest.mark.parametrize("commits", [1, 2, 3])
def test_a_fork_killed_after_any_commit_ends_the_same_with_no_call_made_twice(
    parent: Run, commits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = forked(parent, 3)
    calls = counted_calls(monkeypatch)
    with monkeypatch.context() as patched:
        killing_after(commits, patched, journal_writes, "_commit_once")
        with pytest.raises(Killed):
            advance(child.pk)
    let_lease_run_out(child)
    Run.objects.filter(pk=child.pk, state=RunState.RUNNING).update(state=RunState.QUEUED, lease_token=None)
    advanced(child)

    assert kept(child) == kept(parent)
    assert calls == ["attempt-2/answer", "attempt-2/critique"]
