"""Runs whose models propose calls that act outside: nothing is called unasked, and an allowed call is made once."""

import json
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from reflection_app.core.audit import Actor, AuditEntry
from reflection_app.core.models import Project
from reflection_app.loops.attempt_effects import CallTool
from reflection_app.loops.effect import EffectFailed
from reflection_app.loops.questions import Choice
from reflection_app.runs import journal_writes
from reflection_app.runs.advance import advance
from reflection_app.runs.fork_input import ForkInput
from reflection_app.runs.forks import fork_run
from reflection_app.runs.jobs import take_back_expired
from reflection_app.runs.models import Question, Run, Step
from reflection_app.runs.permissions import Decided, permissions_of
from reflection_app.runs.resuming import AnswerInput, answer_question
from reflection_app.runs.tool_calling import call_tool
from reflection_app.tasks.redo import RedoInput, redo_run
from reflection_app.teams.models import Tool
from reflection_app.teams.tools import ToolChange, ToolInput, change_tool, create_tool
from tests import given, then
from tests.adapters.outgoing.conftest import loopback
from tests.adapters.outgoing.server import RawServer, reply
from tests.adapters.tools.making import http_tool
from tests.loops.completeness.scenes import call_of, checked, planned, wanted
from tests.runs.critiques import critique
from tests.runs.forking import advanced
from tests.runs.test_crashes import Killed, killing_after, let_lease_run_out

__all__ = ["loopback"]
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loopback")]

_numbers = count(1)
ANY = {"type": "object"}
TASK = "Check the invoice 77 for mistakes."
SUPPLEMENT = wanted("Pay invoice 77", "it is due", "pay_invoice", quote="the invoice 77")
ANSWERS = {
    "attempt-1/plan/make": planned(("check", "check the invoice", "python")),
    "attempt-1/step-1/arguments": call_of("python", code="print('no mistakes')"),
    "attempt-1/completeness": checked(SUPPLEMENT, missing=["the payment"]),
    "attempt-1/supplement/plan/make": planned(("s1", "Pay invoice 77", "pay_invoice")),
    "attempt-1/supplement/step-1/arguments": call_of("pay_invoice", invoice="77"),
    "attempt-1/second-look/completeness": checked(analysis="all is there"),
    "attempt-1/answer": "The invoice has no mistakes.",
    "attempt-1/critique": critique(90, approved=True),
}


@pytest.fixture
def bank() -> Iterator[RawServer]:
    with RawServer(reply(b"paid")) as server:
        yield server


@pytest.fixture
def project(bank: RawServer) -> Project:
    project = given.project(f"gated-{next(_numbers)}", review_policy={"audit_share": 0})
    create_tool(project, ToolInput(name="python", kind="builtin", config={"name": "python"}), actor=Actor())
    text = "Pays an invoice by bank transfer."
    http_tool(project, f"{bank.url}/pay", name="pay_invoice", method="POST", description=text, parameters=ANY)
    return project


def planning(project: Project, answers: dict[str, str] | None = None, **submission: Any) -> Run:
    sent = {"objective": TASK, "mode": "planning", "tools": ["python", "pay_invoice"], "models": {}}
    limits = {"token_budget": 100_000, "max_iterations": 1}
    submission = sent | {"limits": limits, "completeness": {"when": "on"}} | submission
    return given.scripted_run(ANSWERS | (answers or {}), project=project, **submission)


def question_of(run: Run) -> Question:
    return Question.objects.get(run=run, kind="tool_call")


def decide(run: Run, choice: Choice, *, text: str = "", name: str = "") -> Run:
    actor = Actor(user=given.user(name or f"ada-{next(_numbers)}"))
    answer_question(question_of(run), AnswerInput(choice=choice, text=text), actor=actor)
    return advanced(run)


def audited(project: Project, action: str) -> list[dict[str, Any]]:
    return list(AuditEntry.objects.filter(project=project, action=action).values_list("after", flat=True))


def test_a_supplement_that_pays_waits_for_a_reviewer_with_the_call_prepared(project: Project, bank: RawServer) -> None:
    run = advanced(planning(project))

    assert (run.state, run.waiting_for, bank.heard) == ("waiting_review", "tool_call", [])
    question = question_of(run)
    assert question.prepared == {"tool": "pay_invoice", "arguments": {"invoice": "77"}, "effect": "external"}
    assert question.choices == ["allow", "refuse"]
    assert f"Task: {TASK}" in question.context
    [decided] = permissions_of(run)
    assert (decided.state, decided.question_id) == (Decided.ASKED, question.pk)
    [asked] = audited(project, "tool_call.asked")
    assert (asked["tool"], asked["arguments"], asked["run"]) == ("pay_invoice", {"invoice": "77"}, str(run.pk))


def test_an_allowed_call_is_made_once_with_just_the_arguments_that_were_shown(
    project: Project, bank: RawServer
) -> None:
    run = decide(advanced(planning(project)), Choice.ALLOW)

    [heard] = bank.heard
    assert json.loads(heard.body) == {"invoice": "77"}
    assert run.outcome == "succeeded"
    assert [(one.state, bool(one.by)) for one in permissions_of(run)] == [(Decided.ALLOWED, True)]
    assert audited(project, "question.answered")[0]["choice"] == "allow"


def test_one_setting_lets_a_pipeline_run_as_before_and_each_call_is_audited(project: Project, bank: RawServer) -> None:
    tool = Tool.objects.get(project=project, name="pay_invoice")
    change_tool(tool, ToolChange(is_allowed=True), actor=Actor())
    run = advanced(planning(project))

    assert (run.outcome, len(bank.heard), Question.objects.filter(run=run).count()) == ("succeeded", 1, 0)
    [allowed] = audited(project, "tool_call.allowed")
    assert (allowed["ground"], allowed["arguments"]) == ("setting", {"invoice": "77"})
    assert audited(project, "tool.changed")[0]["is_allowed"] is True


def test_no_loop_gets_a_call_past_the_gate(project: Project, bank: RawServer) -> None:
    run = planning(project)
    with pytest.raises(EffectFailed, match="no permission"):
        call_tool(CallTool(key="k", tool="pay_invoice", arguments={}, timeout_s=5), run_id=run.pk)
    assert bank.heard == []


@pytest.mark.parametrize("effects", [1, 2, 3, 4])
def test_a_worker_that_dies_after_the_approval_makes_the_call_under_one_key(
    effects: int, project: Project, bank: RawServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = advanced(planning(project))
    answer_question(question_of(run), AnswerInput(choice=Choice.ALLOW), actor=Actor())
    with monkeypatch.context() as patched:
        killing_after(effects, patched, journal_writes, "_commit_once")
        try:
            advance(run.pk)
        except Killed:
            let_lease_run_out(run)
            take_back_expired()
    run = advanced(run)
    advanced(run)

    assert run.outcome == "succeeded"
    assert len({heard.headers.get("idempotency-key") for heard in bank.heard}) == 1
    calls = Step.objects.filter(run=run, kind="call_tool", request__tool="pay_invoice")
    assert calls.count() == 1
    assert Question.objects.filter(run=run).count() == 1


def test_a_redo_goes_by_the_rules_of_now_and_a_run_by_its_own(project: Project, bank: RawServer) -> None:
    run = decide(advanced(planning(project)), Choice.REFUSE)
    Tool.objects.filter(project=project, name="pay_invoice").update(is_allowed=True)
    actor = Actor(user=given.user(f"redoing-{next(_numbers)}"))
    again = redo_run(run, RedoInput(instructions="Look again."), actor=actor)
    rules = again.get_spec().tool_rules
    assert rules is not None
    assert rules["pay_invoice"].is_allowed, "as admins have it now"
    assert (run.get_spec().tool_rules or {})["pay_invoice"].is_allowed is False, "a run keeps what it began with"


def test_who_submitted_the_task_may_refuse_the_call_and_not_allow_it(project: Project, bank: RawServer) -> None:
    caller = given.caller(project)
    run = advanced(planning(project, actor=Actor(api_key=caller.key)))
    address = f"questions/{question_of(run).pk}/answer"
    then.refused(caller.post(address, {"choice": "allow"}), 403)
    assert question_of(run).state == "open"
    assert caller.post(address, {"choice": "refuse"}).status == 200
    assert bank.heard == []


def test_a_fork_from_the_call_on_asks_the_reviewer_anew(project: Project, bank: RawServer) -> None:
    run = decide(advanced(planning(project)), Choice.ALLOW)
    paid = next(step for step in Step.objects.filter(run=run, kind=CallTool.kind) if "supplement" in step.key)

    fork = advanced(fork_run(run, ForkInput(from_step=paid.seq), actor=Actor(user=given.user())))

    assert (fork.waiting_for, len(bank.heard)) == ("tool_call", 1)
    assert "a reviewer allowed the call of pay_invoice once" in fork.fork_note
    later = advanced(fork_run(run, ForkInput(from_step=paid.seq + 1), actor=Actor(user=given.user())))
    assert (later.outcome, len(bank.heard)) == ("succeeded", 1)


def test_a_redo_asks_before_it_pays_again(project: Project, bank: RawServer) -> None:
    said = json.dumps({"asked_for": True, "quote": "Pay invoice 77", "confidence": 1.0})
    answers = {
        "attempt-1/plan/make": planned(("pay", "pay the invoice", "pay_invoice")),
        "attempt-1/step-1/arguments": call_of("pay_invoice", invoice="77"),
        "attempt-1/step-1/call/asked-for": said,
    }
    run = advanced(planning(project, answers, objective="Pay invoice 77.", completeness={"when": "off"}))
    assert (run.state, len(bank.heard)) == ("finished", 1)

    again = redo_run(run, RedoInput(instructions="Write the answer in German."), actor=Actor(user=given.user()))
    advanced(again)

    again.refresh_from_db()
    assert (again.waiting_for, len(bank.heard)) == ("tool_call", 1)
