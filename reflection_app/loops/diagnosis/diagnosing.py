"""Diagnose failed calls: by remembered fixes first, then by rules, then by a model.

Every failure is stored with a diagnosis. An unusable answer, a failing model or a reached limit leaves it with source
NONE or a guess.
"""

import json
import math
import re
from collections.abc import Sequence
from http import HTTPStatus
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, JsonValue, field_validator

from reflection_app.loops.answer_reading import Clipped, Lenient, Said, read_as
from reflection_app.loops.answers import ask
from reflection_app.loops.diagnosis.diagnose import (
    diagnose_by_meaning,
    diagnose_by_rules,
    from_known_fix,
    is_fact,
    signature_of,
    symptoms_of,
)
from reflection_app.loops.diagnosis.diagnoses import (
    LONGEST_DELAY_S,
    CorrectiveAction,
    DiagnosedFailure,
    Diagnosis,
    ErrorType,
    FailedCall,
    FailureSeverity,
    JudgedRemedy,
    KnownFix,
    Remedy,
    Source,
)
from reflection_app.loops.effect import EffectFailed
from reflection_app.loops.effects import RecallFix, RecordToolFailure
from reflection_app.loops.framing import framed
from reflection_app.loops.progress import LimitReached, PriceUnknown, Progress
from reflection_app.loops.prompts import prompt
from reflection_app.loops.questions import Choice, Question, QuestionKind
from reflection_app.loops.storable import is_storable
from reflection_app.loops.tool_calls import ToolCall, is_too_deep
from reflection_app.loops.tool_tries import LONGEST_ARGUMENTS, LONGEST_FAILURE, Try, describe
from reflection_app.loops.values import Message, system, user

# Model diagnosis, reduced to what can be acted on.
#
# Nothing in it is trusted. Unknown tools, parameters that failed before, and delays beyond all limits are removed. Code
# then derives the remedy from the rest.

LARGEST_PARAMS = 20_000
# As in the design seed, for answers without a delay.
USUAL_DELAY_S = 3.0
DIAGNOSIS_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["error_type", "remedy", "root_cause", "severity", "action"],
    "properties": {
        "error_type": {"enum": [one.value for one in ErrorType]},
        "remedy": {"enum": [one.value for one in Remedy]},
        "root_cause": {"type": "string"},
        "severity": {"enum": [one.value for one in FailureSeverity]},
        "action": {"type": "string"},
        "modified_params": {"type": ["object", "null"]},
        "fallback_tool": {"type": ["string", "null"]},
        "retry_delay_seconds": {"type": ["number", "null"]},
        "alternative": {"type": ["string", "null"]},
    },
}


def _name(value: Any) -> Any:
    return value.strip().lower().replace(" ", "_").replace("-", "_") if isinstance(value, str) else value


def _remedy(value: Any) -> Any:
    """Return None for an unknown remedy; the error type then decides."""
    name = _name(value)
    return name if isinstance(name, str) and name in set(Remedy) else None


class ModelDiagnosis(Lenient):
    """A model's diagnosis, in the requested form."""

    error_type: Annotated[ErrorType, BeforeValidator(_name)]
    remedy: Annotated[Remedy | None, BeforeValidator(_remedy)] = None
    root_cause: Clipped = Field(min_length=1)
    severity: Annotated[FailureSeverity, read_as(FailureSeverity, otherwise=FailureSeverity.MEDIUM)] = (
        FailureSeverity.MEDIUM
    )
    action: Said = ""
    modified_params: dict[str, JsonValue] | None = None
    fallback_tool: Clipped | None = None
    retry_delay_seconds: float | None = None
    alternative: Said = ""

    @field_validator("modified_params", mode="after")
    @classmethod
    def leave_out_what_cannot_be_sent(cls, value: dict[str, JsonValue] | None) -> dict[str, JsonValue] | None:
        if not value or is_too_deep(value) or not is_storable(value):
            return None
        return value if len(json.dumps(value, ensure_ascii=False)) <= LARGEST_PARAMS else None


def diagnosis_of(answer: ModelDiagnosis, failed: FailedCall) -> Diagnosis:
    """Return the diagnosis with the usable parts of the model's answer."""
    others = {tool.name for tool in failed.tools if tool.name != failed.tool}
    fallback = (answer.fallback_tool or "").strip()
    fallback = fallback if fallback in others else ""
    params = answer.modified_params if fallback or answer.modified_params != failed.params else None
    # The model's delay if it is valid, and never shorter than the service requested.
    wanted_s = answer.retry_delay_seconds
    delay_s = wanted_s if wanted_s is not None and math.isfinite(wanted_s) and wanted_s > 0 else None
    if delay_s is not None or failed.retry_after_s:
        delay_s = min(max(delay_s or 0.0, failed.retry_after_s or 0.0), LONGEST_DELAY_S)
    # The remedy the model named, if possible; otherwise the one that follows from the error type.
    match answer.error_type, answer.remedy:
        case ErrorType.PERMISSION_DENIED, named:
            # A missing permission is never bypassed, even if the model suggests it.
            remedy = Remedy.SKIP if named is Remedy.SKIP else Remedy.ASK_PERSON
        case _, Remedy.FIX_AND_RETRY | Remedy.ASK_PERSON | Remedy.SKIP as named:
            remedy = named
        case _, Remedy.SWITCH_TOOL if others:
            remedy = Remedy.SWITCH_TOOL
        case _, Remedy.RETRY_LATER:
            remedy = Remedy.SKIP if failed.is_repeated and not params else Remedy.RETRY_LATER
        case _ if fallback:
            remedy = Remedy.SWITCH_TOOL
        case ErrorType.WRONG_TOOL, _:
            remedy = Remedy.SWITCH_TOOL if others else Remedy.FIX_AND_RETRY
        case ErrorType.EXTERNAL_SERVICE_ERROR, _:
            remedy = Remedy.SKIP if failed.is_repeated and not params else Remedy.RETRY_LATER
        case _:
            remedy = Remedy.FIX_AND_RETRY
    if remedy is Remedy.RETRY_LATER and delay_s is None:
        delay_s = USUAL_DELAY_S
    return Diagnosis(
        error_type=answer.error_type,
        root_cause=answer.root_cause,
        severity=answer.severity,
        action=CorrectiveAction(
            remedy=remedy,
            action=answer.action.strip() or remedy.value.replace("_", " "),
            modified_params=params if remedy not in (Remedy.ASK_PERSON, Remedy.SKIP) else None,
            fallback_tool=fallback or None if remedy is Remedy.SWITCH_TOOL else None,
            retry_delay_seconds=delay_s,
            alternative=answer.alternative,
        ),
        source=Source.MODEL,
    )


TEMPERATURE = 0.2
# Reason phrases of HTTP, which carry no further information.
PHRASES = frozenset({"", *(status.phrase.casefold() for status in HTTPStatus)})
BESIDE_PHRASES = re.compile(r"(?:\b(?:http|error|status|code)\b|\d+|[^\w\s'-])[\s:]*|_+")
LONGEST_ERROR_KEPT = 20_000
MOST_TOOLS_SHOWN = 20
UNKNOWN_CAUSE = "No remembered fix and no rule fits this error, and no model could tell why the call failed."
NOT_SURE = "This is a guess: nothing was sure, and no model could be asked."
EVEN_ODDS = 0.5
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
    """Record and return the diagnosis of `failed` under `place`, the key of the failed call and prefix of all keys.

    Fix pairs in `without` already failed in this run and are not used. Raise only PriceUnknown; any other model failure
    leaves a diagnosis by guess or with source NONE.
    """
    signature = signature_of(failed.error, tool=failed.tool)
    recall = RecallFix(
        key=f"{place}/known-fix",
        tool=failed.tool,
        signature=signature,
        params=failed.params,
        error=failed.error[:LONGEST_ERROR_KEPT],
        status=failed.status,
        without=tuple(without),
    )
    recalled = await run.perform(recall)
    known = recalled.known
    # Checked again, because a fork may have edited the recalled fix.
    known = known if known and known.fix_pair not in without else None
    diagnosis = by_memory_or_rules(failed, known, recalled.judged)
    if diagnosis is None and asks_model:
        try:
            run.check_limits()
            request = run.model_call(
                key=f"{place}/diagnose",
                role="diagnoser",
                messages=messages_for(failed, recalled.judged),
                temperature=TEMPERATURE,
                json_schema=DIAGNOSIS_SCHEMA,
            )
            diagnosis = diagnosis_of(await ask(run, request, schema=ModelDiagnosis), failed)
        except PriceUnknown:
            raise
        except (LimitReached, EffectFailed):
            # The model has no usable answer, or a limit leaves no room to ask it.
            pass
    diagnosis = diagnosis or _guess(failed, recalled.judged)
    if diagnosis is None:
        # Suggest other parameters, as for any error that explains itself.
        action = f"Read what {failed.tool} said, and call it with other parameters."
        diagnosis = Diagnosis(
            error_type=ErrorType.PARAMETER_ERROR,
            root_cause=UNKNOWN_CAUSE if asks_model else NOT_ASKED,
            action=CorrectiveAction(remedy=Remedy.FIX_AND_RETRY, action=action),
            source=Source.NONE,
        )
    diagnosis = diagnosis.model_copy(update={"signature": signature, "symptoms": symptoms_of(failed.error)})
    # The tools are the run's own; each failure would store them again.
    kept = failed.model_copy(update={"tools": (), "error": failed.error[:LONGEST_ERROR_KEPT]})
    failure = DiagnosedFailure(place=place, attempt=attempt, failed=kept, diagnosis=diagnosis)
    return (await run.perform(RecordToolFailure(key=f"{place}/diagnosis", failure=failure))).diagnosis


def by_memory_or_rules(
    failed: FailedCall, known: KnownFix | None, judged: JudgedRemedy | None = None
) -> Diagnosis | None:
    """Return the diagnosis by the remembered fix, else by rules and meaning, or None if none is certain.

    A fix that needs an unavailable tool is ignored. A failure that needs a reviewer gets one, even if a remembered fix
    bypassed that before.
    """
    ruled = _by_rules_and_meaning(failed, judged)
    if known is None:
        return ruled
    needs_person = (
        ruled.action.remedy is Remedy.ASK_PERSON if ruled else known.error_type is ErrorType.PERMISSION_DENIED
    )
    if known.action.remedy is Remedy.ASK_PERSON or not needs_person:
        diagnosis = from_known_fix(failed, known)
        is_lost = known.action.fallback_tool is not None and diagnosis.action.fallback_tool is None
        return ruled if is_lost else diagnosis
    return ruled


def _by_rules_and_meaning(failed: FailedCall, judged: JudgedRemedy | None) -> Diagnosis | None:
    """Return the rule's diagnosis if it is exact or the meaning agrees, else a confident one by meaning.

    Return None otherwise.
    """
    ruled = diagnose_by_rules(failed)
    # Failures reported by our own callers are no guess and need no classifier. An error that says no more than "403
    # Forbidden" has no meaning to classify.
    is_bare = BESIDE_PHRASES.sub(" ", failed.error.casefold()).strip() in PHRASES
    if (
        judged is None
        or failed.failure
        or (ruled is not None and (judged.is_exact or is_bare or is_fact(ruled, failed)))
    ):
        return ruled
    if ruled is not None and ruled.action.remedy is judged.remedy:
        return ruled if judged.is_sure else None
    return diagnose_by_meaning(failed, judged) if judged.is_sure else None


def _guess(failed: FailedCall, judged: JudgedRemedy | None) -> Diagnosis | None:
    """Return the most likely diagnosis for when no model could be asked, or None.

    It is the one by meaning if its confidence is at least one half, else the rule's, even if that rule is often wrong.
    """
    ruled = diagnose_by_rules(failed)
    if judged is None or judged.sureness[judged.remedy] < EVEN_ODDS:
        return ruled
    if ruled is not None and ruled.action.remedy is judged.remedy:
        return ruled
    found = diagnose_by_meaning(failed, judged)
    return found.model_copy(update={"root_cause": f"{found.root_cause} {NOT_SURE}"})


def messages_for(failed: FailedCall, judged: JudgedRemedy | None = None) -> tuple[Message, ...]:
    """Return the model's messages: the call, its error, the available tools, and the likely remedies."""
    facts = [f"The HTTP status was {failed.status}."] if failed.status else []
    facts += [f"The service asks to wait {failed.retry_after_s:g} seconds."] if failed.retry_after_s else []
    facts += ["The same call failed twice in a row."] if failed.is_repeated else []
    if judged is not None:
        likely = sorted(judged.sureness, key=lambda one: -judged.sureness[one])[:2]
        names = " or ".join(one.value.replace("_", " ") for one in likely)
        facts += [f"Judged by its wording alone, which can mislead: {names}."]
    text = prompt(
        "diagnose_call",
        tool=" ".join(failed.tool.split()),
        params=framed(json.dumps(failed.params, ensure_ascii=False), name="params", most=LONGEST_ARGUMENTS),
        failure=framed(failed.error, name="failure", most=LONGEST_FAILURE),
        facts="\n".join([*facts, ""]),
        tools=describe(failed.tools[:MOST_TOOLS_SHOWN]) or "(none are known)",
    )
    return (system(prompt("diagnose_system")), user(text))


# Texts for reviewers and journals: the question, the reason for giving up, the description of a fix

CHOICES = (Choice.TRY_AGAIN, Choice.SKIP, Choice.GIVE_UP)
LONGEST_SHOWN = 1_000


def permission_for(tried: Try) -> Question:
    """Return the question to a reviewer about a refused call."""
    arguments = json.dumps(tried.call.arguments, ensure_ascii=False)
    error = f"{tried.result.error}\n{tried.result.content}".strip()
    diagnosis = tried.known_diagnosis
    needed = diagnosis.action.action[:LONGEST_SHOWN]
    return Question(
        kind=QuestionKind.PERMISSION,
        text=f"The tool {tried.call.tool} needs a person. {needed} Then let it try again, or go on without it.",
        context=(
            f"Tool: {tried.call.tool}",
            f"Error: {error[:LONGEST_SHOWN]}",
            f"Arguments: {arguments[:LONGEST_SHOWN]}",
            f"Cause: {diagnosis.root_cause[:LONGEST_SHOWN]}",
        ),
        choices=CHOICES,
    )


def given_up(tried: Try) -> str:
    """Return why no further call is made, as the error of the step or run that ends with it."""
    diagnosis = tried.known_diagnosis
    wrong = tried.issues[0].description if tried.issues else diagnosis.root_cause
    instead = diagnosis.action.alternative.strip()
    text = f"The tool {tried.call.tool} is not called again: {wrong} ({diagnosis.root_cause[:LONGEST_SHOWN]})"
    return f"{text} Instead: {instead[:LONGEST_SHOWN]}" if instead else text


def fix_in_words(diagnosis: Diagnosis, failed: ToolCall, made: ToolCall) -> str:
    """Return a description of the fix without parameter values."""
    if diagnosis.source is not Source.NONE:
        return diagnosis.action.action
    if failed.tool != made.tool:
        return f"Call {made.tool} instead."
    names = dict.fromkeys((*failed.arguments, *made.arguments))
    changed = [name for name in names if failed.arguments.get(name) != made.arguments.get(name)]
    return f"Other values of: {', '.join(changed)}." if changed else "The same call again."
