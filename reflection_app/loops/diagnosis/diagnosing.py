"""Finding out why a call failed: remembered fixes first, then the rules, then a model, and at last nobody's word.

Every failure is kept with its diagnosis, whatever the model says: an answer that cannot be used, a model that fails
and a limit that is reached all leave the failure diagnosed as far as it goes.
"""

import json
import math
import re
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from pydantic import Field, JsonValue, field_validator, model_validator

from reflection_app.loops.answer_reading import Clipped, Lenient, Said
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

# What a model says of a failed call, and as much of it as can be acted on.
#
# Nothing of it is taken on trust: a tool that is not there, parameters that failed before and delays beyond all bounds
# are left out, and what is to be done is told by code from what remains.

LARGEST_PARAMS = 20_000
# As in the design seed, where a delay is left open.
USUAL_DELAY_S = 3.0
# The names of the design seed, which models that read Chinese give back.
TYPE_NAMES = {
    "参数错误": ErrorType.PARAMETER_ERROR,
    "工具选择错误": ErrorType.WRONG_TOOL,
    "权限不足": ErrorType.PERMISSION_DENIED,
    "外部服务异常": ErrorType.EXTERNAL_SERVICE_ERROR,
    "external_service_exception": ErrorType.EXTERNAL_SERVICE_ERROR,
}
SEVERITY_NAMES = {"低": "low", "中": "medium", "高": "high", "critical": "high"}

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


class ModelDiagnosis(Lenient):
    """A model's diagnosis, flat as it was asked for or with the inner objects of the design seed."""

    error_type: ErrorType
    remedy: Remedy | None = None
    root_cause: Clipped = Field(min_length=1)
    severity: FailureSeverity = FailureSeverity.MEDIUM
    action: Said = ""
    modified_params: dict[str, JsonValue] | None = None
    fallback_tool: Clipped | None = None
    retry_delay_seconds: float | None = None
    alternative: Said = ""

    @model_validator(mode="before")
    @classmethod
    def flatten(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        inner = [value.get(name) for name in ("diagnosis", "corrective_action")]
        return value | {key: one for part in inner if isinstance(part, dict) for key, one in part.items()}

    @field_validator("error_type", mode="before")
    @classmethod
    def read_type(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        name = value.strip().lower()
        return TYPE_NAMES.get(name, name.replace(" ", "_").replace("-", "_"))

    @field_validator("remedy", mode="before")
    @classmethod
    def read_remedy(cls, value: Any) -> Any:
        """None of what names no remedy: the type tells it then."""
        name = value.strip().lower().replace(" ", "_").replace("-", "_") if isinstance(value, str) else ""
        return name if name in set(Remedy) else None

    @field_validator("severity", mode="before")
    @classmethod
    def read_severity(cls, value: Any) -> Any:
        if value is None:
            return FailureSeverity.MEDIUM
        return SEVERITY_NAMES.get(value.strip().lower(), value.strip().lower()) if isinstance(value, str) else value

    @field_validator("modified_params", mode="after")
    @classmethod
    def leave_out_what_cannot_be_sent(cls, value: dict[str, JsonValue] | None) -> dict[str, JsonValue] | None:
        if not value or is_too_deep(value) or not is_storable(value):
            return None
        return value if len(json.dumps(value, ensure_ascii=False)) <= LARGEST_PARAMS else None


def diagnosis_of(answer: ModelDiagnosis, failed: FailedCall) -> Diagnosis:
    """The diagnosis with what can be acted on of what the model answered."""
    others = {tool.name for tool in failed.tools if tool.name != failed.tool}
    fallback = (answer.fallback_tool or "").strip()
    fallback = fallback if fallback in others else ""
    params = answer.modified_params if fallback or answer.modified_params != failed.params else None
    # The model's delay where it is one, and never shorter than what the service itself asked for.
    wanted_s = answer.retry_delay_seconds
    delay_s = wanted_s if wanted_s is not None and math.isfinite(wanted_s) and wanted_s > 0 else None
    if delay_s is not None or failed.retry_after_s:
        delay_s = min(max(delay_s or 0.0, failed.retry_after_s or 0.0), LONGEST_DELAY_S)
    # What was named, as far as it can be done; where nothing was, what the type of the error comes down to.
    match answer.error_type, answer.remedy:
        case ErrorType.PERMISSION_DENIED, named:
            # What may not be done is not got round, whatever a model says.
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
# A status as HTTP words it, with nothing said beside it.
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
        error=failed.error[:LONGEST_ERROR_KEPT],
        status=failed.status,
        without=tuple(without),
    )
    recalled = await run.perform(recall)
    known = recalled.known
    # Asked again, because a person may have edited what was recalled in a fork.
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
            # It has none that can be used, or there is no room to ask it.
            pass
    diagnosis = diagnosis or _guess(failed, recalled.judged)
    if diagnosis is None:
        # Other parameters are looked for, as with any error that speaks for itself.
        action = f"Read what {failed.tool} said, and call it with other parameters."
        diagnosis = Diagnosis(
            error_type=ErrorType.PARAMETER_ERROR,
            root_cause=UNKNOWN_CAUSE if asks_model else NOT_ASKED,
            action=CorrectiveAction(remedy=Remedy.FIX_AND_RETRY, action=action),
            source=Source.NONE,
        )
    diagnosis = diagnosis.model_copy(update={"signature": signature, "symptoms": symptoms_of(failed.error)})
    # The tools are the run's own, and every failure would keep them again.
    kept = failed.model_copy(update={"tools": (), "error": failed.error[:LONGEST_ERROR_KEPT]})
    failure = DiagnosedFailure(place=place, attempt=attempt, failed=kept, diagnosis=diagnosis)
    return (await run.perform(RecordToolFailure(key=f"{place}/diagnosis", failure=failure))).diagnosis


def by_memory_or_rules(
    failed: FailedCall, known: KnownFix | None, judged: JudgedRemedy | None = None
) -> Diagnosis | None:
    """What the remembered fix says to do, else what the rules and the error's meaning say, or None where none is sure.

    A fix by a tool that cannot be called here is none. What has to go to a person goes there, whatever is said to have
    got round it before.
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
    """The rule's diagnosis where it is exact or the meaning agrees; the meaning's where that is sure; None else."""
    ruled = diagnose_by_rules(failed)
    # What our own callers say of a call is no guess, and a third try is none of a first failure's. Of an error that
    # says no more than "403 Forbidden" there is no meaning to judge.
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
    """What is rather right than wrong, or what a rule says that is often wrong, where no model could be asked."""
    ruled = diagnose_by_rules(failed)
    if judged is None or judged.sureness[judged.remedy] < EVEN_ODDS:
        return ruled
    if ruled is not None and ruled.action.remedy is judged.remedy:
        return ruled
    found = diagnose_by_meaning(failed, judged)
    return found.model_copy(update={"root_cause": f"{found.root_cause} {NOT_SURE}"})


def messages_for(failed: FailedCall, judged: JudgedRemedy | None = None) -> tuple[Message, ...]:
    """What the model is asked: the call, its error, what could be called, and what the error's meaning hints at."""
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


# What people and journals are told of a failed call: the question, why it is given up, and what a fix was.

CHOICES = (Choice.TRY_AGAIN, Choice.SKIP, Choice.GIVE_UP)
LONGEST_SHOWN = 1_000


def permission_for(tried: Try) -> Question:
    """What a person is asked where a call was refused."""
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
    """Why no further call is made, for the step or the run that ends with it."""
    diagnosis = tried.known_diagnosis
    wrong = tried.issues[0].description if tried.issues else diagnosis.root_cause
    instead = diagnosis.action.alternative.strip()
    text = f"The tool {tried.call.tool} is not called again: {wrong} ({diagnosis.root_cause[:LONGEST_SHOWN]})"
    return f"{text} Instead: {instead[:LONGEST_SHOWN]}" if instead else text


def fix_in_words(diagnosis: Diagnosis, failed: ToolCall, made: ToolCall) -> str:
    """What was done, in words that hold no values of parameters."""
    if diagnosis.source is not Source.NONE:
        return diagnosis.action.action
    if failed.tool != made.tool:
        return f"Call {made.tool} instead."
    names = dict.fromkeys((*failed.arguments, *made.arguments))
    changed = [name for name in names if failed.arguments.get(name) != made.arguments.get(name)]
    return f"Other values of: {', '.join(changed)}." if changed else "The same call again."
