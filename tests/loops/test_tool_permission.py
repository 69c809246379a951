"""Whether a tool may be called without asking: what code decides, and what a model's yes is worth."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from reflection_app.loops.attempt_effects import AskPerson, CallTool, Generate, RecordPermission
from reflection_app.loops.completeness.checks import CompletenessSettings
from reflection_app.loops.effect import EffectFailed
from reflection_app.loops.effects import AnyEffect, RecordPlanStep
from reflection_app.loops.questions import Choice, PersonsAnswer
from reflection_app.loops.task_spec import Execution, Limits, Mode, TaskSpec
from reflection_app.loops.tool_calls import ToolCall, ToolFailure, ToolResult, ToolSpec
from reflection_app.loops.tool_permission import (
    CallGate,
    Ground,
    ToolEffect,
    ToolRule,
    asks_for_deed,
    effect_by_config,
    is_coerced,
)
from reflection_app.loops.verdicts import Outcome
from tests.loops.completeness.scenes import call_of, checked, planned, wanted
from tests.loops.playing import NO_AUDIT, Played, noted, play, said
from tests.loops.tool_playing import failed, worked

ALLOW, REFUSE = PersonsAnswer(choice=Choice.ALLOW, by="ada"), PersonsAnswer(choice=Choice.REFUSE, by="ada")
PAY = ToolSpec(name="pay_invoice", description="Pays an invoice by bank transfer.", parameters={"type": "object"})
READ_INVOICE = ToolSpec(name="read_invoice", description="Reads an invoice.", parameters={"type": "object"})
DELETE = ToolSpec(name="delete_file", description="Deletes a file.", parameters={"type": "object"})
LIST = ToolSpec(name="list_files", description="Lists files.", parameters={"type": "object"})
DRAW = ToolSpec(name="draw_poster", description="Draws a poster.", parameters={"type": "object"})
POST = ToolSpec(name="post_to_chats", description="Posts a text to every chat.", parameters={"type": "object"})
SAVE = ToolSpec(name="save_file", description="Saves a text to a file.", parameters={"type": "object"})
READS = {name: ToolRule(effect=ToolEffect.READ) for name in ("read_invoice", "list_files", "draw_poster")}


def gated(
    objective: str,
    *tools: ToolSpec,
    mode: Mode = Mode.PLANNING,
    rules: Mapping[str, ToolRule] | None = None,
    **more: Any,
) -> TaskSpec:
    limits = Limits(token_budget=100_000, max_iterations=more.pop("iterations", 1))
    return TaskSpec(
        objective=objective,
        mode=mode,
        tools=tools,
        tool_rules=READS | dict(rules or {}),
        has_critic=False,
        limits=limits,
        review_policy=NO_AUDIT,
        **more,
    )


def answering(
    answers: Mapping[str, Any], results: Mapping[str, ToolResult], *, says: str | None = None, by: Any = REFUSE
) -> Any:
    """Answers by key; a model that is asked for the task's words quotes `says`, a reviewer answers `by`."""

    def answer(effect: AnyEffect) -> Any:
        if isinstance(effect, AskPerson):
            return by
        if isinstance(effect, CallTool):
            return results[effect.tool]
        if isinstance(effect, Generate):
            if "/asked-for" in effect.key and effect.key not in answers:
                return said(yes(says)) if says is not None else EffectFailed("no model")
            found = answers.get(effect.key, EffectFailed(f"no answer for {effect.key}"))
            return said(found) if isinstance(found, str) else found
        return noted(effect)

    return answer


def yes(quote: str, **more: Any) -> str:
    return json.dumps({"asked_for": True, "quote": quote, "confidence": 1.0} | more, ensure_ascii=False)


def called(run: Played) -> list[str]:
    return [effect.tool for effect in run.of(CallTool)]


def supplemented(operation: str, tool: str, *, quote: str, first: tuple[str, str], **arguments: Any) -> dict[str, str]:
    """The answers of a run whose check proposes `operation` by `tool`, after a first step."""
    return {
        "attempt-1/plan/make": planned(("first", first[0], first[1])),
        "attempt-1/step-1/arguments": call_of(first[1], id="77"),
        "attempt-1/completeness": checked(wanted(operation, "it is due", tool, quote=quote), missing=[operation]),
        "attempt-1/supplement/plan/make": planned(("s1", operation, tool)),
        "attempt-1/supplement/step-1/arguments": call_of(tool, **arguments),
        "attempt-1/answer": "Done.",
    }


CHECKED = CompletenessSettings(look_again=False)
SCENES = {
    "pay": (
        gated("Check the invoice 77 for mistakes.", READ_INVOICE, PAY, completeness=CHECKED),
        supplemented(
            "Pay invoice 77", "pay_invoice", quote="invoice 77", first=("check it", "read_invoice"), invoice="77"
        ),
        "Check the invoice 77 for mistakes.",
    ),
    "delete": (
        gated("List the temporary files in /tmp.", LIST, DELETE, completeness=CHECKED),
        supplemented(
            "Delete the temporary files",
            "delete_file",
            quote="the temporary files",
            first=("list them", "list_files"),
            path="/tmp",
        ),
        "List the temporary files in /tmp.",
    ),
    "post": (
        gated("Draw two posters.", DRAW, POST, completeness=CHECKED),
        supplemented(
            "Post the posters", "post_to_chats", quote="two posters", first=("draw them", "draw_poster"), text="posters"
        ),
        "Draw two posters.",
    ),
}


@pytest.mark.parametrize("scene", SCENES)
@pytest.mark.parametrize("model", ["none", "careless"])
def test_a_supplement_does_not_act_where_the_task_does_not_ask_for_the_deed(scene: str, model: str) -> None:
    spec, answers, whole_task = SCENES[scene]
    run = play(
        spec,
        answering(
            answers,
            {tool.name: worked("a result") for tool in spec.tools},
            by=REFUSE,
            says=whole_task if model == "careless" else None,
        ),
    )
    tool = spec.tools[-1].name
    assert tool not in called(run)
    [question] = run.of(AskPerson)
    prepared = question.question.prepared
    assert prepared is not None
    assert (prepared.tool, prepared.effect) == (tool, ToolEffect.EXTERNAL)
    [effect] = run.of(RecordPermission)
    assert effect.permission.ground is None
    outcomes = [effect.outcome for effect in run.of(RecordPlanStep)]
    assert (outcomes[-1].state.value, outcomes[-1].error) == ("skipped", f"ada refused the call of {tool}")


def test_a_reviewer_who_allows_it_has_just_the_prepared_call_made() -> None:
    spec, answers, _ = SCENES["pay"]
    run = play(spec, answering(answers, {tool.name: worked("a result") for tool in spec.tools}, by=ALLOW))
    assert called(run) == ["read_invoice", "pay_invoice"]
    [call] = [effect for effect in run.of(CallTool) if effect.tool == "pay_invoice"]
    [question] = run.of(AskPerson)
    assert question.question.prepared is not None
    assert (call.arguments, call.ground) == (question.question.prepared.arguments, Ground.REVIEWER)


def test_a_task_that_asks_for_the_deed_in_its_own_words_needs_no_reviewer() -> None:
    spec, answers, _ = SCENES["pay"]
    spec = spec.model_copy(update={"objective": "Check the invoice 77 for mistakes and pay it."})
    run = play(spec, answering(answers, {tool.name: worked("ok") for tool in spec.tools}, says="pay it"))
    assert (called(run), run.of(AskPerson)) == (["read_invoice", "pay_invoice"], [])
    [effect] = run.of(RecordPermission)
    assert (effect.permission.ground, effect.permission.quote) == (Ground.TASK_WORDS, "pay it")


def test_an_allowed_tool_is_called_as_before_and_recorded() -> None:
    spec, answers, _ = SCENES["pay"]
    rules = {**(spec.tool_rules or {}), "pay_invoice": ToolRule(is_allowed=True)}
    run = play(spec.model_copy(update={"tool_rules": rules}), answering(answers, dict.fromkeys(rules, worked("ok"))))
    assert (called(run), run.of(AskPerson)) == (["read_invoice", "pay_invoice"], [])
    [effect] = run.of(RecordPermission)
    assert effect.permission.ground is Ground.SETTING


PLAN_TO_PAY = {
    "attempt-1/plan/make": planned(("pay", "pay the invoice", "pay_invoice")),
    "attempt-1/step-1/arguments": call_of("pay_invoice", invoice="77"),
    "attempt-1/answer": "Done.",
}


def test_a_refused_step_of_a_plan_is_not_proposed_to_the_reviewer_again() -> None:
    again = {
        "attempt-2/plan/make": planned(("pay", "pay the invoice after all", "pay_invoice")),
        "attempt-2/step-1/arguments": call_of("pay_invoice", invoice="77"),
        "attempt-2/answer": "It was not paid.",
    }
    spec = gated("Check the invoice 77.", PAY, iterations=2)
    run = play(spec, answering(PLAN_TO_PAY | again, {"pay_invoice": worked()}))
    assert (called(run), len(run.of(AskPerson)), run.ended.outcome) == ([], 1, Outcome.EXHAUSTED)


def test_the_same_call_that_failed_needs_no_second_word_and_another_one_does() -> None:
    answers = PLAN_TO_PAY | {"attempt-1/step-1/arguments-2": call_of("pay_invoice", invoice="78")}
    spec = gated("Check the invoice 77.", PAY)
    broken = failed(ToolFailure.TIMED_OUT, "no answer in time")
    run = play(spec, answering(answers, {"pay_invoice": broken}, by=ALLOW))
    made = [effect.arguments["invoice"] for effect in run.of(CallTool)]
    shown = [one.question.prepared.arguments["invoice"] for one in run.of(AskPerson) if one.question.prepared]
    assert shown == list(dict.fromkeys(made)), "one question for each call that differs"
    assert len(made) > len(shown) or made == shown


def submitted(call: ToolCall, *tools: ToolSpec, **more: Any) -> TaskSpec:
    return gated("Do it.", *tools, mode=Mode.EXTERNAL_LOOP, tool_call=call, **more)


def test_the_call_that_came_with_the_task_is_the_submitters_word() -> None:
    run = play(
        submitted(ToolCall(tool="pay_invoice", arguments={"invoice": "77"}), PAY),
        answering({}, {"pay_invoice": worked()}),
    )
    assert (called(run), run.of(AskPerson), run.ended.outcome) == (["pay_invoice"], [], Outcome.SUCCEEDED)


@pytest.mark.parametrize(("arguments", "asks"), [({"invoice": 77}, 0), ({"invoice": 78}, 1)])
def test_a_retry_is_the_submitters_call_only_where_nothing_but_a_type_changed(
    arguments: dict[str, Any], asks: int
) -> None:
    spec = submitted(ToolCall(tool="pay_invoice", arguments={"invoice": "77"}), PAY, iterations=2)
    answers = {"attempt-2/arguments": call_of("pay_invoice", **arguments)}
    run = play(spec, answering(answers, {"pay_invoice": failed(error="the invoice was not read")}))
    assert (len(called(run)), len(run.of(AskPerson))) == (2 - asks, asks)


def test_another_tool_after_a_failure_is_a_models_word() -> None:
    plan = {
        "attempt-1/plan/make": planned(("read", "read the invoice", "read_invoice")),
        "attempt-1/step-1/arguments": call_of("read_invoice", invoice="77"),
        "attempt-1/step-1/call/diagnose": json.dumps(
            {
                "error_type": "wrong_tool",
                "severity": "medium",
                "root_cause": "it cannot do this",
                "remedy": "switch_tool",
                "action": "Pay it instead.",
                "fallback_tool": "pay_invoice",
                "modified_params": {"invoice": "77"},
            }
        ),
        "attempt-1/step-1/arguments-2": call_of("pay_invoice", invoice="77"),
        "attempt-1/answer": "Done.",
    }
    spec = gated("Read the invoice 77.", READ_INVOICE, PAY)
    run = play(spec, answering(plan, {"read_invoice": failed(error="gibberish zzz"), "pay_invoice": worked()}))
    assert called(run) == ["read_invoice"]
    assert [one.question.prepared.tool for one in run.of(AskPerson) if one.question.prepared] == ["pay_invoice"]


def test_a_call_of_an_outside_agent_is_a_models_word() -> None:
    spec = gated("Check the invoice 77.", PAY, mode=Mode.EXTERNAL_LOOP, execution=Execution.EXTERNAL)

    def answer(effect: AnyEffect) -> Any:
        from reflection_app.loops.attempt_effects import AwaitAttempt, HandedIn

        if isinstance(effect, AwaitAttempt):
            return HandedIn(content=call_of("pay_invoice", invoice="77"))
        return answering({}, {"pay_invoice": worked()})(effect)

    run = play(spec, answer)
    assert (called(run), len(run.of(AskPerson)), run.ended.outcome) == ([], 1, Outcome.FAILED)
    assert run.ended.error == "ada refused the call of pay_invoice"


# A tool that writes: only to save what the run produced.


@pytest.mark.parametrize(
    ("content", "is_saved"),
    [("Rome is warm in June, so pack light clothes.", True), ("Something that nobody here has written.", False)],
)
def test_a_tool_that_writes_saves_what_the_run_produced_and_nothing_else(content: str, is_saved: bool) -> None:
    answers = {
        "attempt-1/plan/make": planned(("write", "write the tip", None), ("save", "save it", "save_file")),
        "attempt-1/step-1/answer": "Rome is warm in June, so pack light clothes.",
        "attempt-1/step-2/arguments": call_of("save_file", path="tip.txt", text=content),
        "attempt-1/answer": "Done.",
    }
    spec = gated("Give me a tip for Rome.", SAVE, rules={"save_file": ToolRule(effect=ToolEffect.WRITE)})
    run = play(spec, answering(answers, {"save_file": worked("saved")}))
    assert (called(run) == ["save_file"], len(run.of(AskPerson))) == (is_saved, int(not is_saved))


def test_a_result_is_known_again_by_the_name_that_its_tool_gave_it() -> None:
    gate = CallGate(objective="Draw.", rules={"save_file": ToolRule(effect=ToolEffect.WRITE)})
    gate.produced.append('{"image_id": "img-1", "width": 512}')
    saving = ToolCall(tool="save_file", arguments={"image": "img-1", "path": "lighthouse.png"})
    assert gate.ground_of(saving, tool=SAVE) is Ground.SAVES_RESULT
    other = ToolCall(tool="save_file", arguments={"image": "img-2", "path": "lighthouse.png"})
    assert gate.ground_of(other, tool=SAVE) is None


# What a quote has to hold before a model's yes is believed.

TRANSFER = ToolSpec(
    name="send_email",
    description="Sends an e-mail to a recipient.",
    parameters={"type": "object", "properties": {"priority": {"default": "normal"}}},
)


@pytest.mark.parametrize(
    ("objective", "quote", "arguments", "asks"),
    [
        ("Pay invoice 77 today.", "Pay invoice 77", {"invoice": 77}, True),
        ("Check invoice 77, then settle it.", "settle it", {"invoice": "77"}, True),
        ("检查发票77并支付。", "支付", {"发票": "77"}, True),
        ("Pay invoice 77 today.", "Pay the invoice 77", {"invoice": 77}, False),
        ("Check the invoice 77.", "invoice 77", {"invoice": 77}, False),
        ("Check the invoice 77.", "Check the invoice 77.", {"invoice": 77}, False),
        ("检查发票77。", "检查发票77", {"发票": "77"}, False),
        ("Pay invoice 77 today.", "Pay invoice 77", {"invoice": 78}, False),
        ("Pay invoice 77 today.", "Pay invoice 77", {"invoice": 7}, False),
        ("Pay invoice 77 today.", "Pay invoice 77", {"invoice": 77, "account": "DE02 1203 0000"}, False),
        ("Pay invoice 77 today.", "", {"invoice": 77}, False),
    ],
)
def test_a_quote_counts_where_it_names_the_deed_and_the_task_names_its_object(
    objective: str, quote: str, arguments: dict[str, Any], asks: bool
) -> None:
    call = ToolCall(tool="pay_invoice", arguments=arguments)
    assert asks_for_deed(quote, objective=objective, call=call, tool=PAY) is asks


DELETE_IT = ToolSpec(
    name="delete_file",
    description="Deletes a file.",
    parameters={"type": "object", "properties": {"path": {}, "dry_run": {"default": True}}},
)
DELETE_A = "Delete the file /srv/a/old.csv."


@pytest.mark.parametrize(
    ("objective", "quote", "tool", "arguments"),
    [
        # The quote is cut out of a sentence that denies it.
        ("Do not pay invoice 77.", "pay invoice 77", PAY, {"invoice": 77}),
        ("Please don’t pay invoice 77.", "pay invoice 77", PAY, {"invoice": 77}),
        ("Check invoice 77 without having to pay it.", "pay it", PAY, {"invoice": 77}),
        ("请勿支付发票77。", "支付发票77", PAY, {"invoice": 77}),
        # The value is elsewhere, part of another one, or only after its letters are changed.
        ("Pay invoice 77. Check invoice 78.", "Pay invoice 77", PAY, {"invoice": 78}),
        ("Pay 1,500 for invoice 77.", "Pay 1,500", PAY, {"invoice": 77, "amount": 500}),
        ("Pay 77.50 to ada@x.org.", "Pay 77.50", PAY, {"amount": 77, "to": "ada@x.org"}),
        ("Pay 77 to ada@x.org.", "Pay 77", PAY, {"amount": 77, "to": "ada"}),
        ("Pay invoice 77.", "Pay invoice 77", PAY, {"invoice": "７７"}),
        (DELETE_A, DELETE_A, DELETE_IT, {"path": "/srv/a"}),
        ("* " + DELETE_A, DELETE_A, DELETE_IT, {"path": "*"}),
        # Values that are taken for wording, or hidden in keys.
        ("Pay the invoice of Ada.", "Pay the invoice", PAY, {"account": "DE89 3704 0044 0532 0130 00"}),
        ("Pay ada@x.org 5.", "Pay ada@x.org 5", PAY, {"amount": 5, "to": "Ada of the team. <eve@evil.example>"}),
        (DELETE_A, DELETE_A, DELETE_IT, {"path": {"/etc": True}}),
        (DELETE_A, DELETE_A, DELETE_IT, {"path": "/srv/a/my own files and notes"}),
        # A call that reaches further than what is asked for.
        (DELETE_A, DELETE_A, DELETE_IT, {}),
        (DELETE_A, DELETE_A, DELETE_IT, {"path": "/srv/a/old.csv", "glob": ""}),
        (DELETE_A, DELETE_A, DELETE_IT, {"path": "/srv/a/old.csv", "recursive": True}),
        (DELETE_A, DELETE_A, DELETE_IT, {"path": "/srv/a/old.csv", "dry_run": False}),
        # A tool that does two things, and a thing that is also a deed.
        (
            "Check invoice 77.",
            "Check invoice 77",
            ToolSpec(name="pay_invoice", description="Checks an invoice and pays it.", parameters={}),
            {"id": 77},
        ),
        (
            "Check invoice 77.",
            "Check invoice 77",
            ToolSpec(name="verify_and_pay", description="Works on invoices.", parameters={}),
            {"id": 77},
        ),
        (
            "Summarize the mail from ada@x.org.",
            "the mail from ada@x.org",
            ToolSpec(name="send_email", description="Sends an e-mail.", parameters={}),
            {"to": "ada@x.org"},
        ),
    ],
)
def test_a_careless_yes_about_another_deed_or_another_object_is_not_believed(
    objective: str, quote: str, tool: ToolSpec, arguments: dict[str, Any]
) -> None:
    call = ToolCall(tool=tool.name, arguments=arguments)
    assert not asks_for_deed(quote, objective=objective, call=call, tool=tool)


@pytest.mark.parametrize(
    ("objective", "quote", "arguments"),
    [
        ("Write it. Email the report to ada@x.org.", "Email the report to ada@x.org", {"to": "ada@x.org"}),
        ("把报告发送给 ada@x.org。", "发送给 ada@x.org", {"to": "ada@x.org"}),
        ("Send ada@x.org the report.", "Send ada@x.org the report", {"to": "ADA@x.org", "cc": None, "html": False}),
    ],
)
def test_a_task_that_asks_plainly_is_understood(objective: str, quote: str, arguments: dict[str, Any]) -> None:
    call = ToolCall(tool="send_email", arguments=arguments)
    assert asks_for_deed(quote, objective=objective, call=call, tool=TRANSFER)


def test_what_the_task_asks_for_once_is_not_done_twice_unasked() -> None:
    twice = {
        "attempt-1/plan/make": planned(("pay", "pay it", "pay_invoice"), ("again", "pay it again", "pay_invoice")),
        "attempt-1/step-1/arguments": call_of("pay_invoice", invoice="77"),
        "attempt-1/step-2/arguments": call_of("pay_invoice", invoice=77),
        "attempt-1/answer": "Done.",
    }
    spec = gated("Pay invoice 77.", PAY)
    run = play(spec, answering(twice, {"pay_invoice": worked()}, says="Pay invoice 77"))
    assert (called(run), len(run.of(AskPerson))) == (["pay_invoice"], 1)


def test_wording_and_defaults_need_not_stand_in_the_task_and_a_recipient_must() -> None:
    objective = "Send Anna the result at anna@example.org."
    body = {"text": "Dear Anna, the result of the check is good.", "priority": "normal", "to": "anna@example.org"}
    quote = "Send Anna the result"
    assert asks_for_deed(quote, objective=objective, call=ToolCall(tool="send_email", arguments=body), tool=TRANSFER)
    other = ToolCall(tool="send_email", arguments=body | {"to": "eve@example.org"})
    assert not asks_for_deed(quote, objective=objective, call=other, tool=TRANSFER)


@pytest.mark.parametrize(
    "answer", ["I think so", '{"asked_for": false, "quote": "pay it"}', yes("pay it", confidence=0.2)]
)
def test_an_uncertain_yes_goes_to_the_reviewer(answer: str) -> None:
    spec, answers, _ = SCENES["pay"]
    spec = spec.model_copy(update={"objective": "Check the invoice 77 for mistakes and pay it."})
    key = "attempt-1/supplement/step-1/call/asked-for"
    told = answers | {key: answer, f"{key}/again-1": answer}
    run = play(spec, answering(told, {tool.name: worked("ok") for tool in spec.tools}))
    assert (called(run), len(run.of(AskPerson))) == (["read_invoice"], 1)


# The effect class of a tool, and a call that is the submitter's but for types.


@pytest.mark.parametrize(
    ("kind", "config", "effect"),
    [
        ("builtin", {"name": "python"}, "read"),
        ("http", {"method": "GET"}, "read"),
        ("http", {"method": "POST"}, "external"),
        ("http", {"method": "DELETE"}, "external"),
        ("mcp", {}, "external"),
        ("mcp", {"annotations": {"read_only": True}}, "read"),
        ("mcp", {"annotations": {"read_only": True, "destructive": True}}, "external"),
        ("mcp", {"annotations": {"read_only": False, "destructive": False}}, "external"),
        ("mcp", {"annotations": {"read_only": False, "destructive": False, "open_world": False}}, "write"),
        ("something new", {"method": "GET"}, "external"),
    ],
)
def test_a_way_of_calling_shows_an_effect_class_and_what_is_unknown_is_external(
    kind: str, config: dict[str, Any], effect: str
) -> None:
    assert effect_by_config(kind, config).value == effect


@pytest.mark.parametrize(
    ("arguments", "is_same"),
    [
        ({"id": 77}, True),
        ({"id": "77", "force": False}, True),
        ({"id": "77", "force": True}, False),
        ({}, False),
        ({"id": "77", "to": "x"}, False),
        ({"id": "0077"}, False),
    ],
)
def test_a_coerced_call_differs_in_types_and_defaults_alone(arguments: dict[str, Any], is_same: bool) -> None:
    schema = {"properties": {"id": {"type": "integer"}, "force": {"type": "boolean", "default": False}}}
    given = ToolCall(tool="drop", arguments={"id": "77"})
    assert is_coerced(ToolCall(tool="drop", arguments=arguments), given, schema=schema) is is_same
