"""Finding out why a call failed: remembered fixes first, then the rules, then a model, and at last nobody's word.

Every failure is kept with its diagnosis, whatever the model says: an answer that cannot be used, a model that fails
and a limit that is reached all leave the failure diagnosed as far as it goes.
"""

import json
from collections.abc import Sequence

from reflection_app.loops.attempt_effects import Generate
from reflection_app.loops.diagnosis.diagnose import diagnose_by_rules, from_known_fix
from reflection_app.loops.diagnosis.diagnoses import (
    CorrectiveAction,
    DiagnosedFailure,
    Diagnosis,
    ErrorType,
    FailedCall,
    KnownFix,
    Remedy,
    Source,
)
from reflection_app.loops.diagnosis.model_answers import DIAGNOSIS_SCHEMA, ModelDiagnosis, diagnosis_of
from reflection_app.loops.diagnosis.signatures import signature_of, symptoms_of
from reflection_app.loops.effect import EffectFailed
from reflection_app.loops.messages import Message, system, user
from reflection_app.loops.progress import LimitReached, PriceUnknown, Progress
from reflection_app.loops.prompts import prompt
from reflection_app.loops.structured_answers import ask
from reflection_app.loops.tool_failure_effects import RecallFix, RecordToolFailure
from reflection_app.loops.tool_frames import framed
from reflection_app.loops.tool_tries import LONGEST_ARGUMENTS, LONGEST_FAILURE, describe

TEMPERATURE = 0.2
LONGEST_ERROR_KEPT = 20_000
MOST_TOOLS_SHOWN = 20
UNKNOWN_CAUSE = "No remembered fix and no rule fits this error, and no model could tell why the call failed."
NOT_ASKED = "No remembered fix and no rule fits this error; no model was asked, since no other call follows."


async def diagnose(
    run: Progress,
    failed: FailedCall,
    *,
    place: str,
    attempt: int | None = None,
    without: Sequence[str] = (),
    asks_model: bool = True,
) -> Diagnosis:
    """The diagnosis of `failed`, kept under `place`: the key of the failed call, with which all keys here begin.

    Fix pairs in `without` have failed in this run already and are not used. Raises PriceUnknown alone: any other
    trouble of the model leaves a diagnosis whose source is NONE.
    """
    signature = signature_of(failed.error, tool=failed.tool)
    recall = RecallFix(
        key=f"{place}/known-fix",
        tool=failed.tool,
        signature=signature,
        params=failed.params,
        without=tuple(without),
    )
    known = (await run.perform(recall)).known
    # Asked again, because a person may have edited what was recalled in a fork.
    diagnosis = by_memory_or_rules(failed, known if known and known.fix_pair not in without else None)
    if diagnosis is None and asks_model:
        diagnosis = await _by_model(run, failed, key=f"{place}/diagnose")
    if diagnosis is None:
        diagnosis = nobody_knows(failed, UNKNOWN_CAUSE if asks_model else NOT_ASKED)
    diagnosis = diagnosis.model_copy(update={"signature": signature, "symptoms": symptoms_of(failed.error)})
    # The tools are the run's own, and every failure would keep them again.
    kept = failed.model_copy(update={"tools": (), "error": failed.error[:LONGEST_ERROR_KEPT]})
    failure = DiagnosedFailure(place=place, attempt=attempt, failed=kept, diagnosis=diagnosis)
    return (await run.perform(RecordToolFailure(key=f"{place}/diagnosis", failure=failure))).diagnosis


def by_memory_or_rules(failed: FailedCall, known: KnownFix | None) -> Diagnosis | None:
    """What the remembered fix says to do, else what the rules say, or None where neither fits.

    A fix by a tool that cannot be called here, or by the very parameters that failed, is none. What has to go to a
    person goes there, whatever is said to have got round it before.
    """
    if known is not None and not _gets_round_a_person(failed, known):
        diagnosis = from_known_fix(failed, known)
        action = diagnosis.action
        is_lost = known.action.fallback_tool is not None and action.fallback_tool is None
        if not is_lost and (action.modified_params is None or action.modified_params != failed.params):
            return diagnosis
    return diagnose_by_rules(failed)


def _gets_round_a_person(failed: FailedCall, known: KnownFix) -> bool:
    if known.action.remedy is Remedy.ASK_PERSON:
        return False
    ruled = diagnose_by_rules(failed)
    if ruled is None:
        return known.error_type is ErrorType.PERMISSION_DENIED
    return ruled.action.remedy is Remedy.ASK_PERSON


async def _by_model(run: Progress, failed: FailedCall, *, key: str) -> Diagnosis | None:
    """The model's diagnosis, or None where it has none that can be used or there is no room to ask it."""
    try:
        run.check_limits()
        request = Generate(
            key=key,
            role="diagnoser",
            messages=messages_for(failed),
            temperature=TEMPERATURE,
            max_tokens=run.tokens_left,
            timeout_s=run.time_left_s(),
            json_schema=DIAGNOSIS_SCHEMA,
        )
        said = await ask(run, request, schema=ModelDiagnosis)
    except PriceUnknown:
        raise
    except (LimitReached, EffectFailed):
        return None
    return diagnosis_of(said, failed)


def messages_for(failed: FailedCall) -> tuple[Message, ...]:
    """What the model is asked: the call, its error, and what could be called."""
    facts = [f"The HTTP status was {failed.status}."] if failed.status else []
    facts += [f"The service asks to wait {failed.retry_after_s:g} seconds."] if failed.retry_after_s else []
    facts += ["The same call failed twice in a row."] if failed.is_repeated else []
    asked = prompt(
        "diagnose_call",
        tool=" ".join(failed.tool.split()),
        params=framed(json.dumps(failed.params, ensure_ascii=False), name="params", most=LONGEST_ARGUMENTS),
        failure=framed(failed.error, name="failure", most=LONGEST_FAILURE),
        facts="\n".join([*facts, ""]),
        tools=describe(failed.tools[:MOST_TOOLS_SHOWN]) or "(none are known)",
    )
    return (system(prompt("diagnose_system")), user(asked))


def nobody_knows(failed: FailedCall, cause: str) -> Diagnosis:
    """What is said where nobody can tell: other parameters are looked for, as with any error that speaks for itself."""
    return Diagnosis(
        error_type=ErrorType.PARAMETER_ERROR,
        root_cause=cause,
        action=CorrectiveAction(
            remedy=Remedy.FIX_AND_RETRY,
            action=f"Read what {failed.tool} said, and call it with other parameters.",
        ),
        source=Source.NONE,
    )
