"""Diagnosis by the rule table and by remembered fixes. Pure: equal calls get equal diagnoses."""

import math
import re
from collections.abc import Mapping
from itertools import islice
from typing import Any

from reflection_app.loops.diagnosis.diagnoses import (
    LONGEST_DELAY_S,
    CorrectiveAction,
    Diagnosis,
    FailedCall,
    FailureSeverity,
    JudgedRemedy,
    KnownFix,
    Remedy,
    Source,
)
from reflection_app.loops.diagnosis.error_texts import clipped, status_in, telling_text
from reflection_app.loops.diagnosis.fallback_tools import is_reading, is_reading_page
from reflection_app.loops.diagnosis.modifiers import Params, can_be_kept, fits, known_properties, modified
from reflection_app.loops.diagnosis.param_changes import carried_over, in_words
from reflection_app.loops.diagnosis.rules import BY_MEANING, RULES, Change, Facts, Rule
from reflection_app.loops.storable import storable

# Error signatures, equal for similar errors, and their first clauses as a summary

LONGEST_SIGNATURE = 300
MOST_SYMPTOMS = 5
LONGEST_SYMPTOM = 60
NOTHING_SAID = "(nothing said)"

# One pass; at each place the first alternative wins. Codes are retained, as they distinguish errors. Repeats are
# bounded.
_VARIABLE = re.compile(
    r"""
      (?P<kept>\b(?:http(?:/\d(?:\.\d)?)?(?:\ (?:status|error|code))?|status(?:[ _]?code)?
          |(?:error|exit|return|sqlstate)?[ _-]?code|errno|sqlstate|exit\ status)
          (?:\ is)?[ :=\[(]{0,4}-?[0-9][0-9a-z]{0,5}\b
        |(?:错误码|状态码|代码)[ :=]{0,3}-?\d{1,6}
        |\b[45]\d\d\ (?=[a-z]))
    | (?P<url>\b[a-z][a-z0-9+.-]{1,15}://[^\s"'<>,，。]{1,500})
    | (?P<email>\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5})
    | (?P<time>\b\d{4}[-/年]\d{1,2}[-/月]\d{1,2}日?(?:[t ]\d{1,2}:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:z|[+-]\d\d:?\d\d)?)?
        |\b\d{1,2}:\d\d(?::\d\d)?(?:\.\d{1,9})?\b)
    | (?P<id>\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b)
    | (?P<value>"[^"\n]{0,400}"|(?<!\w)'[^'\n]{0,400}'(?!\w)
        |“[^”]{0,400}”|「[^」]{0,400}」|《[^》]{0,400}》|‘[^’]{0,400}’)
    | (?P<path>\b[a-z]:\\[^\s:*?"<>|]{1,300}|(?<![\w.)/])~?(?:/[\w.@+-]{1,120}){2,30}/?
        |(?<![\w.)/])\.{1,2}(?:/[\w.@+-]{1,120}){1,30}
        |\b[\w-]{1,60}\.(?:py|js|ts|json|csv|txt|md|html|pdf|sql|yaml|yml|toml|log|go|rs|java|sh)\b)
    | (?P<hex>\b0x[0-9a-f]{1,64}\b)
    | (?P<duration>\b(?:\d{1,4}h\ ?)?(?:\d{1,4}m\ ?)?\d{1,12}(?:\.\d{1,9})?
        \ ?(?:ms|milliseconds?|s|secs?|seconds?|mins?|minutes?|hours?)\b
        |\d{1,12}(?:\.\d{1,9})?\ ?(?:毫秒|秒钟?|分钟|小时))
    | (?P<ip>\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b)
    | (?P<word>(?<![\w])(?=[a-z_-]{0,40}\d)(?=[\d_-]{0,40}[a-z])[a-z0-9_]{2,120}(?:-[a-z0-9_]{1,60}){0,10}(?![\w]))
    | (?P<number>\d{1,40}(?:[.,]\d{1,20}){0,8})
    """,
    re.VERBOSE,
)
_LEAD = re.compile(r"^(?:(?:error|exception|failure|fatal|错误|异常|失败|报错)\s?[:!-]\s?){1,4}")
_CLAUSE_END = re.compile(r"(?<![.,;:!?])[.,;:!?]++(?=\s|$|[\u3400-\u9fff])|\s[-–|]\s")


def signature_of(error: str, *, tool: str = "") -> str:
    """Return the error with variable parts replaced by placeholders; at most 300 characters.

    `tool` is the failed tool's name, which is replaced too. Codes and words in any language are retained.
    """
    text = telling_text(error)
    name = tool.strip().casefold()
    if len(name) > 2:
        text = text.replace(name, "<tool>")
    text = _LEAD.sub("", _VARIABLE.sub(_placeholder, text))
    return storable(text.strip(" .。!,;:")[:LONGEST_SIGNATURE].strip()) or NOTHING_SAID


def symptoms_of(error: str) -> tuple[str, ...]:
    """Return the first clauses of the error's signature: a summary without values."""
    clauses = (clause.strip()[:LONGEST_SYMPTOM] for clause in _CLAUSE_END.split(signature_of(error)))
    return tuple(islice(dict.fromkeys(filter(None, clauses)), MOST_SYMPTOMS)) or (NOTHING_SAID,)


def _placeholder(found: re.Match[str]) -> str:
    kind = found.lastgroup or "value"
    if kind == "kept":
        return found[0]
    return {"word": "<id>", "number": "<n>"}.get(kind, f"<{kind}>")


_BY_ID = {rule.id: rule for rule in RULES}
NO_SUCH_TOOL = "no-such-tool"
USUAL_DELAY_S = 3.0
SHORTEST_AGAIN_S = 10.0
LOOK_FIRST = "Look first whether the call was carried out after all, so that nothing is done twice."
STILL = "The same call failed twice in a row: change the parameters or the way, do not repeat it."
RAISED = {
    FailureSeverity.LOW: FailureSeverity.MEDIUM,
    FailureSeverity.MEDIUM: FailureSeverity.HIGH,
    FailureSeverity.HIGH: FailureSeverity.HIGH,
}
# Matches "try again in 1m30s", "retry after 60 seconds", "请在 60 秒后重试"
_WAIT = re.compile(
    r"(?:(?:try|retry|again|wait|available|resets?|reset)[a-z ]{0,20}(?:in|after|for)"
    r"|retry-after:?|请(?:在|于|等待)?)\s?"
    r"(?:(?P<hours>\d{1,4})\s?(?:h(?![a-z])|hours?|小时)\s?)?(?:(?P<minutes>\d{1,5})\s?(?:(?:m|mins?|minutes?)(?![a-z])|分钟?)\s?)?"
    r"(?:(?P<number>\d{1,7}(?:\.\d{1,4})?)\s?(?P<unit>ms|milliseconds?|毫秒|s\b|secs?\b|seconds?|秒)?)?"
)


def diagnose_by_rules(failed: FailedCall) -> Diagnosis | None:
    """Return the diagnosis of the first matching rule, or None."""
    text = telling_text(failed.error)
    status = failed.status if failed.status is not None else status_in(text)
    facts = Facts(text, status, failed.failure, is_reading_page(failed.tool, failed.params))
    rule = next((rule for rule in RULES if rule.fits(facts)), None)
    return _by_rule(rule, failed, facts) if rule else None


def is_fact(ruled: Diagnosis, failed: FailedCall) -> bool:
    """Return True if no classifier may overrule this rule.

    The table marks some rules as final. The rule for a nonexistent tool is a fact if the name is missing from the list
    of tools. Without a list, it is a fact if the error names the tool.
    """
    if ruled.rule != NO_SUCH_TOOL:
        return _BY_ID[ruled.rule].is_final
    names = {tool.name for tool in failed.tools}
    return failed.tool not in names if names else failed.tool in clipped(failed.error)


def diagnose_by_meaning(failed: FailedCall, judged: JudgedRemedy) -> Diagnosis:
    """Return the diagnosis for the classified meaning, with the corrective action that code can compute."""
    text = telling_text(failed.error)
    facts = Facts(text, failed.status, failed.failure, is_reading_page(failed.tool, failed.params))
    rule = BY_MEANING[judged.remedy].model_copy(update={"error_type": judged.error_type})
    found = _by_rule(rule, failed, facts)
    return found.model_copy(update={"source": Source.MEANING, "rule": "", "sureness": judged.sureness[judged.remedy]})


def _by_rule(rule: Rule, failed: FailedCall, facts: Facts) -> Diagnosis:
    reads = is_reading(failed.tool)
    changes = [change for change in rule.changes if reads or change is not Change.SIMPLIFY_QUERY]
    params = modified(failed.params, changes=changes, schema=failed.schema_of(failed.tool))
    alternative = rule.alternative
    if rule.may_have_worked and not reads:
        alternative = f"{LOOK_FIRST} {alternative}".strip()
    action = CorrectiveAction(remedy=rule.remedy, action=rule.action, modified_params=params, alternative=alternative)
    match rule.remedy:
        case Remedy.RETRY_LATER if failed.is_repeated and facts.is_reading_page:
            # It is one page of many, so skipping it is acceptable.
            action = action.model_copy(
                update={
                    "remedy": Remedy.SKIP,
                    "action": "Skip this URL: it failed twice in a row.",
                    "modified_params": None,
                    "alternative": "Record the URL as not accessible and go on with the other sources.",
                }
            )
        case Remedy.RETRY_LATER:
            # A repeated failure waits longer.
            requested_s = _requested_delay_s(failed, facts.text)
            delay_s = requested_s if requested_s is not None else rule.delay_s or USUAL_DELAY_S
            # A spent quota is not renewed because a service says "retry in a second" about its rate limit.
            delay_s = max(delay_s, rule.delay_s or 0.0) if rule.id == "quota-spent" else delay_s
            words = f"{action.action} {STILL}" if failed.is_repeated and params is None else action.action
            action = action.model_copy(update={"retry_delay_seconds": _bounded(delay_s, failed), "action": words})
        case Remedy.SWITCH_TOOL:
            action = action.model_copy(update={"modified_params": None})
        case Remedy.FIX_AND_RETRY if failed.is_repeated and params is None:
            action = action.model_copy(update={"action": f"{STILL} {rule.action}"})
    return Diagnosis(
        error_type=rule.error_type,
        root_cause=rule.root_cause,
        severity=RAISED[rule.severity] if failed.is_repeated else rule.severity,
        action=action,
        source=Source.RULE,
        rule=rule.id,
        signature=signature_of(failed.error, tool=failed.tool),
        symptoms=symptoms_of(failed.error),
    )


def from_known_fix(failed: FailedCall, known: KnownFix) -> Diagnosis:
    """Return the remembered action, applied to the current parameters.

    Parameters that fixed this very call come first, then changes learned from other calls, then computed ones. The
    action does not switch to a tool that no longer exists.
    """
    ruled = diagnose_by_rules(failed)
    action = known.action
    if action.remedy is Remedy.FIX_AND_RETRY:
        params: Params | None = failed.params | (action.modified_params or {})
        if params == failed.params or not _is_usable(params or {}, failed.schema_of(failed.tool)):
            found = (carried_over(changes, failed) for changes in known.learned)
            params = next((one for one in found if one is not None), None)
        told = in_words(failed.params, params) if params is not None else ()
        if params is None and ruled is not None:
            params = ruled.action.modified_params
        action = action.model_copy(update={"modified_params": params, "carried_over": told})
    elif action.remedy is Remedy.SWITCH_TOOL:
        action = _switched(action, failed, fallback=action.fallback_tool)
        if action.fallback_tool and not is_reading(action.fallback_tool):
            action = action.model_copy(update={"modified_params": None})
    elif action.remedy is Remedy.RETRY_LATER:
        requested_s = _requested_delay_s(failed, telling_text(failed.error)) or 0.0
        delay_s = max(action.retry_delay_seconds or USUAL_DELAY_S, requested_s)
        action = action.model_copy(update={"retry_delay_seconds": _bounded(delay_s, failed)})
    severity = ruled.severity if ruled is not None else FailureSeverity.MEDIUM
    return Diagnosis(
        error_type=known.error_type,
        root_cause=ruled.root_cause if ruled is not None else f"Known from before; what helped: {known.fix}",
        severity=FailureSeverity.HIGH if failed.is_repeated else severity,
        action=action,
        source=Source.FIX_PAIR,
        fix_pair=known.fix_pair,
        signature=signature_of(failed.error, tool=failed.tool),
        symptoms=symptoms_of(failed.error),
    )


def _is_usable(params: Mapping[str, Any], schema: Mapping[str, Any]) -> bool:
    return can_be_kept(params) and (not schema or fits(params, schema))


def _bounded(delay_s: float, failed: FailedCall) -> float:
    """Return the delay in seconds, doubled if the call failed twice in a row, at most LONGEST_DELAY_S."""
    return min(max(2 * delay_s, SHORTEST_AGAIN_S) if failed.is_repeated else delay_s, LONGEST_DELAY_S)


def _switched(action: CorrectiveAction, failed: FailedCall, *, fallback: str | None) -> CorrectiveAction:
    """Return the action with the fallback tool, and with these parameters if that tool accepts them."""
    tool = next((tool for tool in failed.tools if tool.name == fallback), None)
    if tool is None:
        return action.model_copy(update={"fallback_tool": None, "modified_params": None})
    # The same parameters are used only if the tool's schema knows all of them and they are valid.
    takes = failed.params.keys() <= known_properties(tool.parameters).keys()
    params = dict(failed.params) if takes and _is_usable(failed.params, tool.parameters) else None
    words = action.action if tool.name in action.action else f"{action.action} Use {tool.name}."
    return action.model_copy(update={"fallback_tool": storable(tool.name), "modified_params": params, "action": words})


def _requested_delay_s(failed: FailedCall, text: str) -> float | None:
    """Return the delay in seconds that the service asks for, by Retry-After or else by its text.

    Return None if it asks for none.
    """
    stated_s = failed.retry_after_s
    if stated_s is not None and not math.isnan(stated_s) and stated_s >= 0:
        return min(stated_s, LONGEST_DELAY_S)
    for found in _WAIT.finditer(text):
        if any(found.group(name) for name in ("hours", "minutes", "number")):
            unit = found["unit"] or ""
            number = float(found["number"] or 0) / (1_000 if unit.startswith(("ms", "milli", "毫")) else 1)
            delay_s = 3_600 * int(found["hours"] or 0) + 60 * int(found["minutes"] or 0) + number
            return min(delay_s, LONGEST_DELAY_S)
    return None
