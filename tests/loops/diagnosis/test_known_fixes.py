from reflection_app.loops.diagnosis.diagnose import from_known_fix
from reflection_app.loops.diagnosis.diagnoses import (
    CorrectiveAction,
    ErrorType,
    FailedCall,
    FixRecall,
    KnownFix,
    Remedy,
    Source,
)
from reflection_app.loops.diagnosis.diagnosing import by_memory_or_rules
from reflection_app.loops.diagnosis.param_changes import changes_between
from reflection_app.loops.protocol.stages import RepairStep
from reflection_app.loops.tool_calls import ToolSpec

FAILED = FailedCall(tool="find", params={"query": "a", "limit": 9}, error="The moon is full")


def known(remedy: Remedy, **fields: object) -> KnownFix:
    action = CorrectiveAction.model_validate({"remedy": remedy, "action": "Do it so.", **fields})
    return KnownFix(fix_pair="p", error_type=ErrorType.PARAMETER_ERROR, fix="Do it so.", action=action, successes=2)


def test_parameters_that_put_this_very_call_right_come_first() -> None:
    found = from_known_fix(FAILED, known(Remedy.FIX_AND_RETRY, modified_params={"query": "a", "limit": 5}))
    assert (found.source, found.fix_pair) == (Source.FIX_PAIR, "p")
    assert found.action.modified_params == {"query": "a", "limit": 5}
    assert found.action.carried_over == ("limit: 9 → 5",)


def test_what_a_fix_changed_of_another_call_is_changed_in_this_one() -> None:
    changes = changes_between({"query": "b", "limit": 7}, {"query": "b", "limit": 5})
    fix = known(Remedy.FIX_AND_RETRY).model_copy(update={"learned": (changes,)})
    assert from_known_fix(FAILED, fix).action.modified_params == {"query": "a", "limit": 5}


def test_where_no_parameters_are_remembered_those_that_the_schema_asks_for_are_used() -> None:
    schema = {"type": "object", "properties": {"limit": {"type": "integer", "maximum": 3}}}
    failed = FAILED.model_copy(
        update={"error": "invalid parameter", "tools": (ToolSpec(name="find", parameters=schema),)}
    )
    action = from_known_fix(failed, known(Remedy.FIX_AND_RETRY)).action
    assert (action.modified_params, action.carried_over) == ({"query": "a", "limit": 3}, ())


def test_a_tool_that_is_gone_is_not_switched_to() -> None:
    fix = known(Remedy.SWITCH_TOOL, fallback_tool="look")
    schema = {"type": "object", "properties": {"query": {}, "limit": {}}}
    there = FAILED.model_copy(update={"tools": (ToolSpec(name="look", parameters=schema),)})
    assert from_known_fix(there, fix).action.fallback_tool == "look"
    assert from_known_fix(there, fix).action.modified_params == FAILED.params
    assert from_known_fix(FAILED, fix).action.fallback_tool is None


def test_a_remembered_delay_is_no_shorter_than_what_is_asked_for_now() -> None:
    fix = known(Remedy.RETRY_LATER, retry_delay_seconds=5)
    assert from_known_fix(FAILED, fix).action.retry_delay_seconds == 5
    asked = FAILED.model_copy(update={"retry_after_s": 40.0})
    assert from_known_fix(asked, fix).action.retry_delay_seconds == 40
    again = FAILED.model_copy(update={"is_repeated": True})
    assert from_known_fix(again, fix).action.retry_delay_seconds == 10


def test_what_has_to_go_to_a_person_goes_there_whatever_got_round_it_before() -> None:
    refused = FailedCall(tool="pay", params={"amount": 9}, error="403 Forbidden: you have no permission", status=403)
    for fix in (known(Remedy.FIX_AND_RETRY, modified_params={"as": "root"}), known(Remedy.RETRY_LATER)):
        diagnosis = by_memory_or_rules(refused, fix)
        assert diagnosis is not None
        assert (diagnosis.source, diagnosis.action.remedy) == (Source.RULE, Remedy.ASK_PERSON)
    granted = by_memory_or_rules(refused, known(Remedy.ASK_PERSON))
    assert granted is not None
    assert granted.source is Source.FIX_PAIR
    unknown = FAILED.model_copy(update={"error": "The moon forbids it"})
    round_it = known(Remedy.SWITCH_TOOL).model_copy(update={"error_type": ErrorType.PERMISSION_DENIED})
    assert by_memory_or_rules(unknown, round_it) is None


def test_what_journals_of_older_versions_hold_is_still_read() -> None:
    old = {"known": None, "likeness": {"fetch": 0.6}, "judged": None}
    assert FixRecall.model_validate(old) == FixRecall()
    assert RepairStep.model_validate({"action": "Write it", "deliverable": "a.csv"}) == RepairStep(action="Write it")
