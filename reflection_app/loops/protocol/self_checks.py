"""An external agent's self-check of an attempt, submitted with it."""

from typing import Any

from pydantic import JsonValue

from reflection_app.loops.reflexion import SelfEvaluation, SelfIssue, judge_itself
from reflection_app.loops.verdicts import LONGEST_TEXT, Judgement

MOST_ISSUES = 50
NO = frozenset({"false", "no", "failed", "not ok", "0", "否", "不"})

SelfCheck = dict[str, JsonValue]


def is_content(check: SelfCheck | None) -> bool:
    """Return True if the agent is satisfied with its attempt or says nothing about it.

    Without an explicit `ok`, any named issue means that it is not satisfied.
    """
    if not check:
        return True
    ok = check.get("ok")
    if isinstance(ok, str) and ok.strip().lower() in NO:
        ok = False
    if isinstance(ok, bool | int):
        return bool(ok) and not is_interrupted(check)
    return not (issues_of(check) or is_interrupted(check) or check.get("unknown"))


def is_interrupted(check: SelfCheck | None) -> bool:
    return bool(check) and check is not None and check.get("interrupted") is True


def interruption_of(check: SelfCheck | None) -> str:
    """Return what the agent reports as interrupted, or ""."""
    if check is None or not is_interrupted(check):
        return ""
    return "; ".join(issues_of(check)) or "The agent says that it was interrupted."


def text_of(check: SelfCheck | None, name: str) -> str:
    """Return the text under `name`, cut to LONGEST_TEXT; "" if there is none."""
    value = check.get(name) if check else None
    return value.strip()[:LONGEST_TEXT] if isinstance(value, str) else ""


def issues_of(check: SelfCheck) -> tuple[str, ...]:
    """Return the issues that the agent found, in any input form."""
    listed = check.get("issues")
    found = listed if isinstance(listed, list) else [listed] if listed else []
    texts = []
    for item in found[:MOST_ISSUES]:
        issue: Any = item
        if isinstance(item, dict):
            issue = next((item[name] for name in ("description", "issue", "message") if item.get(name)), "")
        if isinstance(issue, str | int | float) and (text := str(issue).strip()[:LONGEST_TEXT]):
            texts.append(text)
    return tuple(texts)


def judge_by(check: SelfCheck, *, attempt: int) -> Judgement:
    """Return the agent's self-evaluation as a judgement: REVISE, with the issues it named."""
    named = issues_of(check) or (interruption_of(check) or unknown_of(check) or "The agent's self-check failed.",)
    evaluation = SelfEvaluation(is_satisfactory=False, issues=tuple(SelfIssue(description=text) for text in named))
    return judge_itself(evaluation, attempt=attempt)


def unknown_of(check: SelfCheck | None) -> str:
    """Return what the agent says it does not know, or ""."""
    unknown = check.get("unknown") if check else None
    if isinstance(unknown, str) and unknown.strip():
        return unknown.strip()[:LONGEST_TEXT]
    return "The agent says that it does not know." if unknown else ""
