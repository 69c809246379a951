"""The form of a fork: what it begins with for each kind of step, what was typed into it, and what that asks for."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from django.http import QueryDict

from reflection_app.loops.effects import (
    AskReviewer,
    AwaitAttempt,
    Draw,
    Generate,
    KeepAttempt,
    RecordVerdict,
    RequestAudit,
)
from reflection_app.loops.verdicts import Referee
from reflection_app.reviews.views.decision_form import ISSUE_FIELDS, MOST_ROWS, SPARE_ROWS, read_issue_rows
from reflection_app.runs.models.run import Run, Step
from reflection_app.web.complaints import SENTENCES
from reflection_app.web.forms import TypedField
from reflection_app.web.template_filters import pretty_json
from reflection_app.web.typed_json import NotJson, read_typed_json

Kind = Literal["verdict", "decision", "answer", "data", "none"]
LIMITS = ("max_iterations", "token_budget", "time_budget_s", "cost_budget_usd")
FEEDBACK = ("strengths", "weaknesses", "suggestions")
MOST_MESSAGES = 200


def kind_of(step: Step | None) -> Kind:
    """How the result of this step is edited."""
    if step is None or step.kind in {Draw.kind, KeepAttempt.kind, RequestAudit.kind}:
        return "none"
    named: dict[str, Kind] = {
        RecordVerdict.kind: "verdict",
        AskReviewer.kind: "decision",
        Generate.kind: "answer",
        AwaitAttempt.kind: "answer",
    }
    return named.get(step.kind, "data")


@dataclass
class ForkForm:
    """Texts as typed; the action reads them."""

    run: Run
    step: Step | None
    from_step: int
    values: dict[str, str]
    issues: tuple[dict[str, str], ...] = ()
    messages: tuple[dict[str, str], ...] = ()
    errors: dict[str, list[str]] = field(default_factory=dict)

    @property
    def kind(self) -> Kind:
        return kind_of(self.step)

    @property
    def has_prompt(self) -> bool:
        return bool(self.messages)

    @property
    def fields(self) -> dict[str, TypedField]:
        return {name: TypedField(name, value, self.errors.get(name, [])) for name, value in self.values.items()}

    @property
    def general(self) -> list[str]:
        shown = {*self.values, "issues", "messages"}
        return [message for name, found in self.errors.items() if name not in shown for message in found]

    @property
    def rows(self) -> tuple[dict[str, str], ...]:
        """The issues, and some empty rows to add more without JavaScript."""
        spare = min(SPARE_ROWS, MOST_ROWS - len(self.issues))
        return (*self.issues, *({"category": "other", "severity": "medium"} for _ in range(spare)))

    @property
    def recorded(self) -> dict[str, Any]:
        result = self.step.result if self.step else None
        return result if isinstance(result, dict) else {}

    @property
    def referee(self) -> str:
        """Who gave the verdict that is edited."""
        number = self.recorded.get("referee")
        return Referee(number).label if number else ""

    def blame(self, errors: Iterable[Mapping[str, str]]) -> None:
        """Puts each of the action's errors at the field that it is about."""
        for error in errors:
            name, message = self._placed(error["field"], error["message"])
            self.errors.setdefault(name, []).append(message)

    def _placed(self, path: str, message: str) -> tuple[str, str]:
        first, *rest = path.split(".")
        if first == "result" and rest:
            first, *rest = rest
            message = SENTENCES.get(first if first != "issues" else (rest or [""])[-1], message)
        if first in {"issues", "messages"} and rest and rest[0].isdecimal():
            what = "Issue" if first == "issues" else "Message"
            return first, f"{what} {int(rest[0]) + 1}: {message}"
        if first == "limits" and rest:
            return rest[0], SENTENCES.get(rest[0], message)
        if first == "content" and self.kind == "answer":
            return "text", message
        if path.startswith("result") and first not in self.values:
            named = ".".join([first, *rest]) if path != "result" else ""
            return ("data" if self.kind == "data" else ""), f"{named}: {message}".removeprefix(": ")
        return first, message


def prefilled(run: Run, step: Step | None, *, from_step: int) -> ForkForm:
    """The form of a step as it was recorded."""
    kind = kind_of(step)
    form = ForkForm(run, step, from_step, values=_empty_values())
    form.values["change"] = "result" if kind in {"verdict", "decision"} else "again"
    recorded = form.recorded
    feedback = recorded.get("feedback") or {}
    form.values |= {
        "verdict": str(recorded.get("verdict", "")),
        "score": f"{recorded['score']:g}" if "score" in recorded else "",
        "reason": str(recorded.get("reason", "")),
        "text": str(recorded.get("text", recorded.get("content", ""))) if kind == "answer" else "",
        "data": pretty_json(recorded) if kind == "data" else "",
        **{name: "\n".join(str(line) for line in feedback.get(name, [])) for name in FEEDBACK},
    }
    form.issues = tuple(
        {name: str(issue.get(name, "")) for name in ISSUE_FIELDS} for issue in recorded.get("issues") or []
    )
    form.messages = _recorded_messages(run, step)
    return form


def _empty_values() -> dict[str, str]:
    names = ("change", "verdict", "score", "whose", "reason", "text", "data", *FEEDBACK, "note", *LIMITS)
    return dict.fromkeys(names, "")


def _recorded_messages(run: Run, step: Step | None) -> tuple[dict[str, str], ...]:
    if step is None or step.kind not in {Generate.kind, AwaitAttempt.kind}:
        return ()
    found = step.request.get("messages") if isinstance(step.request, dict) else None
    return tuple(
        {"role": str(message.get("role", "user")), "content": str(message.get("content", ""))}
        for message in (found if isinstance(found, list) else [])
    )


def read_fork(data: QueryDict, run: Run, step: Step | None, *, from_step: int) -> ForkForm:
    """What was typed. Line ends are as they were before the browser made CR LF of them."""
    form = prefilled(run, step, from_step=from_step)
    texts = {name: data.get(name, "").replace("\r\n", "\n") for name in form.values}
    # White space belongs to an answer, and to nothing else that is typed here.
    form.values = {name: text if name == "text" else text.strip() for name, text in texts.items()}
    form.issues = read_issue_rows(data)
    roles, contents = data.getlist("message_role"), data.getlist("message_content")
    pairs = list(zip(roles, contents, strict=False))[:MOST_MESSAGES]
    form.messages = tuple({"role": role, "content": content.replace("\r\n", "\n")} for role, content in pairs)
    return form


def as_input(form: ForkForm) -> dict[str, Any]:
    """The fork as the REST interface would be asked for it; what is no JSON is blamed on its field."""
    asked: dict[str, Any] = {"from_step": form.from_step, "note": form.values["note"]}
    if limits := {name: form.values[name] for name in LIMITS if form.values[name]}:
        asked["limits"] = limits
    if form.values["change"] == "messages" and form.has_prompt:
        asked["messages"] = [message for message in form.messages if message["content"].strip()]
    elif form.values["change"] == "result" and form.kind != "none":
        asked["result"] = _result(form)
    return asked


def _result(form: ForkForm) -> Any:
    match form.kind:
        case "verdict":
            lines = {name: [line.strip() for line in form.values[name].splitlines()] for name in FEEDBACK}
            feedback = {name: [line for line in found if line] for name, found in lines.items()}
            named = {"referee": form.recorded["referee"]} if form.values["whose"] == "recorded" else {}
            return _judged(form) | {"feedback": feedback} | named
        case "decision":
            return _judged(form) | {"reason": form.values["reason"]}
        case "answer":
            is_handed_in = form.step is not None and form.step.kind == AwaitAttempt.kind
            return {"content" if is_handed_in else "text": form.values["text"]}
    return _read_json(form)


def _judged(form: ForkForm) -> dict[str, Any]:
    told: dict[str, Any] = {
        "verdict": form.values["verdict"],
        "issues": [issue for issue in form.issues if issue["description"] or issue["suggested_fix"]],
    }
    before = f"{form.recorded['score']:g}" if "score" in form.recorded else ""
    # A score that nobody touched was the other verdict's: the action finds the one nearest to it that fits.
    if form.values["score"] != before:
        told["score"] = form.values["score"]
    return told


def _read_json(form: ForkForm) -> Any:
    try:
        return read_typed_json(form.values["data"])
    except NotJson as error:
        form.errors["data"] = [str(error)]
    return {}
