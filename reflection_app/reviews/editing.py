"""A reviewer's own text in the place of an attempt's: where it can be given, what code finds of it, how it is kept.

The attempt stays as it was, with the reviewer's REVISE on it. The text passes as an attempt of its own, whose author is
the reviewer, and is the run's answer: of a run that waits its loop keeps it and ends, of one that has ended it is kept
here, beside the journal.
"""

from collections.abc import Iterable
from hashlib import sha256
from typing import Any

from django.db.models import Max
from django.utils.translation import gettext as _

from desk_sandbox import SandboxFailed, SandboxUnavailable, run_tests
from desk_sandbox.code_tests import TestReport
from reflection_app.core.audit import Actor
from reflection_app.core.errors import InvalidInput, wrong
from reflection_app.loops.attempt_effects import EditDecision, EditedAnswer
from reflection_app.loops.code_loop import TESTS_TIMEOUT_S, code_under
from reflection_app.loops.data_loop import judge_data
from reflection_app.loops.requirement_checks import check_requirements
from reflection_app.loops.task_spec import Mode, TaskSpec
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.reviews.decisions import DecisionInput, score_within
from reflection_app.reviews.models import Review
from reflection_app.runs.models import Attempt, Run, Verdict


def edited_by(review: Review, data: DecisionInput) -> EditedAnswer | None:
    """The text that the decision puts in the attempt's place, as code has checked it; None of any other decision.

    Call it outside of a transaction: the task's tests may take half a minute. Raises InvalidInput, with all that does
    not hold.
    """
    text = data.edited_answer
    if data.decision is not EditDecision.EDIT:
        if text is not None:
            raise wrong("edited_answer", _("Send an edited answer only with the decision edit."))
        return None
    if why := why_not_edited(review, review.run):
        raise wrong("decision", why)
    if text is None or not text.strip():
        raise wrong("edited_answer", _("The answer is empty. Nothing was decided. Enter a text."))
    if is_same(text, review.attempt.content):
        raise wrong("edited_answer", _("The text is unchanged. Edit it, or choose Agree or Overrule."))
    return _checked(review, text)


def is_same(text: str, content: str) -> bool:
    """Whether nothing but the ends of lines, which a browser writes in its own way, tells the two apart."""
    return _with_plain_ends(text) == _with_plain_ends(content)


def _with_plain_ends(text: str) -> str:
    return text.replace("\r\n", "\n").rstrip("\n")


def why_not_edited(review: Review, run: Run) -> str:
    """Why nobody can put a text of their own in the place of this attempt; nothing where a reviewer can."""
    if review.is_seat:
        return _("Blind reviews with several reviewers do not allow edited answers.")
    if review.is_pick:
        return _("This review selects an attempt. To request changes, send it back and describe them.")
    if run.spec.get("mode") == Mode.EXTERNAL_LOOP and run.spec.get("tools") and not run.spec.get("output_schema"):
        return _("This attempt is a tool call that already ran. Editing its text would have no effect.")
    if review.holds_run:
        return ""
    if not run.is_finished:
        return _("The run is not blocked by this review and has not ended, so it has no final answer yet.")
    if run.best_attempt_id != review.attempt_id:
        kept = run.best_attempt.number if run.best_attempt else 0
        return _("Attempt %(number)s is the run's final answer. Request a review of that attempt to edit it.") % {
            "number": kept
        }
    return ""


# What code can check of the text, as it does of an attempt. Tests that a model wrote are suspects, and judge nobody.


def _checked(review: Review, text: str) -> EditedAnswer:
    spec, lowered = review.run.get_spec(), review.verdict.get_lowered()
    problems: list[str] = []
    report = None
    if spec.requirements is not None:
        report = check_requirements(spec.requirements, text, chain_of_thought=spec.chain_of_thought, lowered=lowered)
        problems += [
            _("%(wanted)s (found: %(found)s)") % {"wanted": one.in_words, "found": one.actual} for one in report.unmet
        ]
    if spec.output_schema is not None:
        issues = judge_data(spec, text, attempt=review.attempt.number).issues
        problems += [f"{issue.path}: {issue.description}".removeprefix(": ") for issue in issues]
    tests = _tested(spec, text) if spec.tests is not None and not problems else None
    if tests is not None:
        problems += [_in_words(name, why) for name, why in _failures(tests)]
    if problems:
        errors = [{"field": "edited_answer", "message": problem} for problem in problems]
        raise InvalidInput(_("The edited answer failed the automatic checks. Nothing was decided."), errors=errors)
    return EditedAnswer(
        content=text,
        score=score_within(VerdictName.PASS, review.verdict.score, spec.thresholds),
        tests=tests,
        requirements=report,
        lowered=lowered if report is not None and report.is_lowered else None,
    )


def _tested(spec: TaskSpec, text: str) -> TestReport:
    assert spec.tests is not None
    code, wanted = code_under(spec, text)
    try:
        return run_tests(code, tests=spec.tests, deadline_s=TESTS_TIMEOUT_S, wanted=wanted)
    except (SandboxUnavailable, SandboxFailed) as error:
        told = _("The text cannot be checked because the tests of the task cannot run here: %(why)s")
        raise wrong("edited_answer", told % {"why": error}) from None


def _failures(tests: TestReport) -> Iterable[tuple[str, str]]:
    for result in tests.failed:
        reason = result.reason.value if result.reason else ""
        yield result.name, result.error or (f"{result.actual} ≠ {result.expected}" if result.expected else reason)


def _in_words(name: str, why: str) -> str:
    return _("test %(name)s: %(why)s") % {"name": name, "why": why}


def facts_of(review: Review, edited: EditedAnswer) -> dict[str, Any]:
    """Both texts by hash and size, as the audit trail keeps them."""
    return {"original": _print_of(review.attempt.content), "edited": _print_of(edited.content)}


def _print_of(text: str) -> dict[str, Any]:
    data = text.encode()
    return {"sha256": sha256(data).hexdigest(), "bytes": len(data)}


# A run that had ended: the text is kept beside its journal, which stays as it was, and so does how the run ended.


def keep_correction(review: Review, run: Run, edited: EditedAnswer, *, actor: Actor) -> Attempt:
    """The text as the run's answer, in the caller's transaction that has locked `run`."""
    last = Attempt.objects.filter(run=run).aggregate(last=Max("number"))["last"] or 0
    attempt = Attempt.objects.create(
        run=run,
        number=last + 1,
        content=edited.content,
        artifacts=review.attempt.artifacts,
        edited_from=review.attempt.number,
        edited_by_label=actor.label,
    )
    verdict = Verdict.from_judgement(edited.judgement_of(attempt.number), attempt=attempt, step=None)
    verdict.given_by = actor.user
    verdict.save()
    run.attempts_made, run.best_attempt = attempt.number, attempt
    run.save(update_fields=["attempts_made", "best_attempt"])
    return attempt


def correction_of(review: Review) -> Attempt | None:
    """What `keep_correction` kept of this decision; None where the decision was another, or its run's loop keeps it."""
    if not review.is_edited or review.holds_run:
        return None
    of_run = Attempt.objects.filter(run=review.run_id, step=None, edited_from=review.attempt.number)
    return of_run.order_by("number").last()


def take_back_correction(review: Review, run: Run) -> None:
    """Takes the text away and keeps the attempt that was kept before; the caller saves `run`'s best attempt."""
    correction = correction_of(review)
    if correction is None:
        return
    correction.delete()
    run.attempts_made, run.best_attempt_id = Attempt.objects.filter(run=run).count(), review.attempt_id
    run.save(update_fields=["attempts_made", "best_attempt"])
