"""What each class of error makes of a run."""

import json
from typing import Any

import pytest

from reflection_app.loops.attempt_effects import AskPerson, AskReviewer, CallTool, Generate, ReviewReason
from reflection_app.loops.effects import ProposeInstruction
from reflection_app.loops.protocol.error_classes import AlikeBy, ErrorClass
from reflection_app.loops.protocol.executing import says_something
from reflection_app.loops.protocol.reports import ProposalKind
from reflection_app.loops.protocol.stages import Classified, RepairKind, RepairStatus
from reflection_app.loops.questions import Choice, PersonsAnswer, QuestionKind
from reflection_app.loops.verdicts import Outcome, Verdict
from tests.loops.playing import decided, play
from tests.loops.protocol.playing import (
    FAILED,
    PAPERS,
    PLAN,
    REFLECTION,
    STEP,
    Desk,
    answered,
    asked_in,
    missing,
    outputs,
    papers,
    passing,
    plan_of,
    proposed_by,
    protocol_spec,
    repairs_of,
    reports_of,
    role_of,
)
from tests.loops.tool_playing import ADD, WEATHER, call_text, failed, worked
from tests.runs.critiques import critique

UNKNOWN = "I don't know which venues count."
NOTED = (ProposalKind.LESSON, PLAN["learning_notes"])


def class_of(played: Any) -> ErrorClass:
    return outputs(played, Classified)[0].type


def kinds_proposed(played: Any) -> list[tuple[ProposalKind, str]]:
    return [(one.kind, one.name) for one in proposed_by(played)]


def test_a_mistake_made_again_lowers_the_expectation_and_puts_the_next_judgement_before_a_person() -> None:
    desk = Desk(critic=[missing(), passing()], reviewer=decided(Verdict.PASS), alike=True)
    played = play(protocol_spec(), desk)

    assert class_of(played) is ErrorClass.MODEL_CAPABILITY
    assert plan_of(played).expected_score == 40
    assert "LLM_ESCALATION_MODEL" in plan_of(played).remediation
    assert role_of(played, "attempt-2/answer") == "actor"
    [asked] = played.of(AskReviewer)
    assert (asked.reason, asked.judgement.attempt) == (ReviewReason.CHECKPOINT, 2)
    assert "three papers too few" in asked.why[0]
    assert "40" in asked.why[1]
    assert kinds_proposed(played) == [(ProposalKind.ANTI_PATTERN, "Stopping early"), NOTED]
    assert played.ended.outcome is Outcome.SUCCEEDED


def test_a_stronger_model_repairs_and_submits_where_one_is_configured() -> None:
    desk = Desk(critic=[missing(), passing()], reviewer=decided(Verdict.PASS), alike=True, escalation="strong work")
    played = play(protocol_spec(has_escalation=True), desk)

    assert role_of(played, "attempt-1/answer") == "actor"
    assert role_of(played, "attempt-1/repair-1/work") == "escalation"
    assert role_of(played, "attempt-2/answer") == "escalation"
    assert "LLM_ESCALATION_MODEL" not in plan_of(played).remediation


def test_a_decision_error_adds_its_instruction_at_once_and_proposes_it() -> None:
    played = play(protocol_spec(), Desk(critic=[missing(), passing()]))

    assert class_of(played) is ErrorClass.DECISION_ERROR
    assert PLAN["instruction"] in asked_in(played, "attempt-2/answer")
    assert "people have approved" not in asked_in(played, "attempt-2/answer")
    assert PLAN["instruction"] not in asked_in(played, "attempt-1/answer")
    [proposed] = [effect.instruction for effect in played.of(ProposeInstruction)]
    assert (proposed.agent, proposed.text) == ("academic-researcher", PLAN["instruction"])
    assert proposed.reflection_id == "ref_20260101_120000_1"


@pytest.mark.parametrize("alike", [True, False])
def test_a_reflector_that_gives_nothing_usable_leaves_nothing_behind_for_later_runs(alike: bool) -> None:
    desk = Desk(actor=papers(3), critic=passing(), reviewer=decided(Verdict.PASS), reflect="?", plan="?", alike=alike)
    played = play(protocol_spec(requirements=PAPERS, limits={"max_iterations": 2}), desk)
    assert class_of(played) is (ErrorClass.MODEL_CAPABILITY if alike else ErrorClass.DECISION_ERROR)
    assert proposed_by(played) == []
    assert not played.of(ProposeInstruction)
    assert reports_of(played)[0].anti_pattern is None
    assert "Not analysed" not in plan_of(played).instruction


def test_a_decision_error_checks_the_requirements_on_every_draft() -> None:
    played = play(
        protocol_spec(requirements=PAPERS),
        Desk(actor=[papers(3), papers(4), papers(5)], critic=[missing(), passing()]),
    )
    repair, looked_at_last = repairs_of(played)
    assert (repair.status, looked_at_last.status) == (RepairStatus.WRITTEN, RepairStatus.COMPLETED)
    assert repair.repair.is_checkpoint
    assert repair.requirements is not None
    assert not repair.requirements.all_met
    assert "do not hold yet" in asked_in(played, "attempt-2/answer")


def test_a_normal_iteration_repairs_nothing_and_offers_a_hint() -> None:
    played = play(protocol_spec(), Desk(critic=[critique(60, feedback={"suggestions": ["Be brief."]}), passing()]))

    assert class_of(played) is ErrorClass.NORMAL_ITERATION
    assert repairs_of(played) == []
    assert reports_of(played)[0].repair_actions == ()
    assert [(one.kind, one.content) for one in proposed_by(played)] == [(ProposalKind.LESSON, PLAN["hint"])]
    assert "Be brief." in asked_in(played, "attempt-2/answer")
    assert played.ended.outcome is Outcome.SUCCEEDED


def test_knowledge_is_asked_of_the_tool_and_told_as_data_and_proposed() -> None:
    desk = Desk(
        actor=[UNKNOWN, call_text("weather", city="Rome"), "notes", "done"],
        critic=[missing(), passing()],
        tool=worked("A and B count."),
    )
    played = play(protocol_spec(knowledge_tool=WEATHER), desk)

    assert class_of(played) is ErrorClass.MISSING_KNOWLEDGE
    first, second = repairs_of(played)
    assert (first.repair.kind, first.repair.tool, first.output) == (RepairKind.TOOL, "weather", "A and B count.")
    assert second.repair.action == STEP["action"]
    assert "Which terms were searched?" in asked_in(played, "attempt-1/repair-1/arguments")
    told = asked_in(played, "attempt-2/answer")
    assert told.index("<output-") < told.index("A and B count.")
    assert kinds_proposed(played)[:2] == [(ProposalKind.ANTI_PATTERN, "Stopping early"), NOTED]
    [fact] = proposed_by(played)[2:]
    assert (fact.kind, fact.content, fact.reflection_id) == (
        ProposalKind.FACT,
        "A and B count.",
        "ref_20260101_120000_1",
    )
    assert not played.of(AskPerson)


def test_a_refused_knowledge_tool_is_not_called_and_the_question_goes_to_a_reviewer() -> None:
    asked = call_text("weather", city="Rome")
    refused = PersonsAnswer(choice=Choice.REFUSE, by="ann")
    desk = Desk(
        actor=[UNKNOWN, asked, "notes", "done"],
        classifier=FAILED,
        critic=[missing(), passing()],
        person=[refused, answered("ACL counts.")],
    )
    played = play(protocol_spec(knowledge_tool=WEATHER, tool_rules={}), desk)
    questions = [effect.question for effect in played.of(AskPerson)]
    assert [one.kind for one in questions] == [QuestionKind.TOOL_CALL, QuestionKind.KNOWLEDGE]
    assert not played.of(CallTool)
    assert any("ann refused the call of weather" in line for line in questions[1].context)
    assert repairs_of(played)[0].output == "ACL counts."


def test_a_repair_step_that_acts_outside_is_recorded_as_refused_and_the_run_goes_on() -> None:
    plan = plan_with({"action": "Post it", "kind": "tool", "tool": "weather"}, {"action": "Think", "kind": "model"})
    desk = Desk(
        actor=["draft", call_text("weather", city="Rome"), "thought", "revised"],
        classifier=FAILED,
        critic=[missing(), passing()],
        plan=plan,
        person=PersonsAnswer(choice=Choice.REFUSE, by="ann"),
    )
    played = play(protocol_spec(tools=(WEATHER,), tool_rules={}), desk)
    assert not played.of(CallTool)
    first = repairs_of(played)[0]
    assert (first.status, first.error) == (RepairStatus.FAILED, "ann refused the call of weather")
    assert played.ended.outcome is Outcome.SUCCEEDED


@pytest.mark.parametrize("nothing", [worked(""), worked("[]"), worked("没有找到相关结果"), failed(error="no city")])
def test_a_tool_with_nothing_useful_to_say_is_followed_by_a_person(nothing: Any) -> None:
    desk = Desk(
        actor=[UNKNOWN, call_text("weather", city="Rome"), call_text("weather", city="b"), call_text(city="c"), "x"],
        critic=[missing(), passing()],
        tool=nothing,
        person=answered("ACL counts."),
        diagnoser="?",
    )
    played = play(protocol_spec(knowledge_tool=WEATHER), desk)
    [asked] = [effect.question for effect in played.of(AskPerson)]
    assert asked.kind is QuestionKind.KNOWLEDGE
    assert asked.choices == (Choice.ANSWER, Choice.SKIP)
    assert asked.text == "Which terms were searched?", "one question is no list"
    assert any("I don't know" in line for line in asked.context)
    assert repairs_of(played)[0].output == "ACL counts."
    assert [one.content for one in proposed_by(played) if one.kind is ProposalKind.FACT] == ["ACL counts."]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("ACL and EMNLP.", True),
        ("", False),
        ('{"results": []}', False),
        ("No results.", False),
        ("没有找到相关结果", False),
        ("The year 2024 is not found in volume 3, but volumes 4 to 9 hold it in full." + " Read on." * 20, True),
        ('{"results": ["ACL"]}', True),
    ],
)
def test_what_an_answer_of_a_search_is_worth(text: str, says: bool) -> None:
    assert says_something(text) is says


def plan_with(*steps: dict[str, Any] | str) -> str:
    return json.dumps(PLAN | {"repair_steps": list(steps)})


def test_repair_steps_are_done_one_by_one_and_one_that_fails_does_not_stop_the_others() -> None:
    plan = plan_with(
        {"action": "Think", "kind": "model"},
        {"action": "Look", "kind": "tool", "tool": "weather"},
        {"action": "Ask", "kind": "person"},
        {"action": "Add up", "kind": "tool", "tool": "rm"},
    )
    actor = ["draft", FAILED, call_text("weather", city="Rome"), "added", "revised"]
    desk = Desk(
        actor=actor, critic=[missing(), passing()], plan=plan, tool=worked("21 degrees"), person=answered("Yes.")
    )
    played = play(protocol_spec(tools=(WEATHER, ADD)), desk)

    assert [(one.status, one.output or one.error) for one in repairs_of(played)] == [
        (RepairStatus.FAILED, "the provider refused the call"),
        (RepairStatus.COMPLETED, "21 degrees"),
        (RepairStatus.COMPLETED, "Yes."),
        (RepairStatus.WRITTEN, "added"),
    ]
    assert repairs_of(played)[3].repair.kind is RepairKind.MODEL
    assert [one.status for one in reports_of(played)[1].repair_actions] == [
        RepairStatus.FAILED,
        *[RepairStatus.COMPLETED] * 2,
        RepairStatus.WRITTEN,
    ]
    assert [effect.tool for effect in played.of(CallTool)] == ["weather"]
    assert "21 degrees" in asked_in(played, "attempt-1/repair-4/work")
    assert played.ended.outcome is Outcome.SUCCEEDED


def named_again(**same_as: Any) -> Any:
    """A run whose second attempt is sent back too, and whose reflector then names the first's mistake."""
    answers = [json.dumps(REFLECTION), json.dumps({**REFLECTION, "same_as": same_as})]
    desk = Desk(critic=[missing(40), missing(60), passing()], reflect=answers, reviewer=decided(Verdict.PASS))
    return play(protocol_spec(limits={"max_iterations": 9}), desk)


def test_the_reflectors_word_on_an_earlier_mistake_counts_when_its_quote_stands_there() -> None:
    played = named_again(earlier="e1", quote="“Two papers  are missing.”")
    again = outputs(played, Classified)[1]
    [found] = again.facts.similar.found
    assert (found.description, found.by) == ("two papers are missing", AlikeBy.REFLECTOR)
    assert again.type is ErrorClass.MODEL_CAPABILITY
    asked = [effect for effect in played.of(Generate) if effect.key.endswith("/reflect")]
    assert ["E1: two papers are missing" in effect.messages[-1].content for effect in asked[:2]] == [False, True]


@pytest.mark.parametrize(
    "same_as",
    [
        {"earlier": "E2", "quote": "two papers are missing"},
        {"earlier": "E1", "quote": "the papers are out of date"},
        {"earlier": "E1", "quote": "two"},
        {"earlier": ["E1"], "quote": 7},
    ],
)
def test_a_mistake_that_is_not_there_or_not_quoted_is_no_repetition(same_as: dict[str, Any]) -> None:
    again = outputs(named_again(**same_as), Classified)[1]
    assert again.facts.similar.found == ()
    assert again.type is not ErrorClass.MODEL_CAPABILITY
