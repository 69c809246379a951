"""The form of a fork: what it begins with for each kind of step, what was typed into it, and what that asks for."""

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from typing import Any, Literal

from django.http import QueryDict
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from reflection_app.core.errors import InvalidInput
from reflection_app.loops.attempt_effects import (
    AskReviewer,
    AwaitAttempt,
    Draw,
    Generate,
    KeepAttempt,
    RecordVerdict,
    RequestAudit,
)
from reflection_app.loops.effects import DrawCheck
from reflection_app.reviews.views.decision import read_issue_rows, with_spare_rows
from reflection_app.reviews.views.issue_rows import MarkableText, issue_row, issues_of_rows, outputs_of
from reflection_app.runs.answers import decisive_scores
from reflection_app.runs.models import Attempt, Run, Step
from reflection_app.runs.views.steps import StepLine
from reflection_app.tasks.views import MODEL_FIELDS, model_field_of, models_typed
from reflection_app.web.forms import SENTENCES, Form, NotJson, Problems, read_typed_json
from reflection_app.web.rendering import LONGEST_COMPARED, marked
from reflection_app.web.template_filters import pretty_json

Kind = Literal["verdict", "decision", "answer", "data", "none"]
LIMITS = ("max_iterations", "token_budget", "time_budget_s", "cost_budget_usd")
FIELDS = ("change", "verdict", "score", "reason", "text", "data", "note", *LIMITS, *MODEL_FIELDS)
MOST_MESSAGES = 200


def kind_of(step: Step | None) -> Kind:
    """How the result of this step is edited."""
    if step is None or step.kind in {Draw.kind, DrawCheck.kind, KeepAttempt.kind, RequestAudit.kind}:
        return "none"
    named: dict[str, Kind] = {
        RecordVerdict.kind: "verdict",
        AskReviewer.kind: "decision",
        Generate.kind: "answer",
        AwaitAttempt.kind: "answer",
    }
    return named.get(step.kind, "data")


@dataclass(kw_only=True)
class ForkForm(Form):
    """Texts as typed; the action reads them."""

    run: Run
    step: Step | None
    from_step: int
    issues: tuple[dict[str, str], ...] = ()
    messages: tuple[dict[str, str], ...] = ()

    @property
    def kind(self) -> Kind:
        return kind_of(self.step)

    @property
    def has_prompt(self) -> bool:
        return bool(self.messages)

    @property
    def general(self) -> list[str]:
        """The problems that no field of the form shows."""
        shown = {*self.values, "issues", "messages"}
        return [message for name, found in self.errors.items() if name not in shown for message in found]

    @property
    def rows(self) -> tuple[dict[str, str], ...]:
        return with_spare_rows(self.issues)

    @property
    def recorded(self) -> dict[str, Any]:
        result = self.step.result if self.step else None
        return result if isinstance(result, dict) else {}

    def add_errors(self, errors: Problems) -> None:
        for error in errors:
            path, message = error["field"], error["message"]
            first, *rest = path.split(".")
            if first == "result" and rest:
                first, *rest = rest
                message = SENTENCES.get(first if first != "issues" else (rest or [""])[-1], message)
            if first in {"issues", "messages"} and rest and rest[0].isdecimal():
                what = "Issue" if first == "issues" else "Message"
                message = f"{what} {int(rest[0]) + 1}: {message}"
            elif first == "limits" and rest:
                first, message = rest[0], SENTENCES.get(rest[0], message)
            elif first == "models":
                first = model_field_of(path)
            elif first == "content" and self.kind == "answer":
                first = "text"
            elif path.startswith("result") and first not in self.values:
                named = ".".join([first, *rest]) if path != "result" else ""
                first, message = "data" if self.kind == "data" else "", f"{named}: {message}".removeprefix(": ")
            self.add_error(first, message)


def prefilled(run: Run, step: Step | None, *, from_step: int) -> ForkForm:
    """The form of a step as it was recorded."""
    kind = kind_of(step)
    form = ForkForm(run=run, step=step, from_step=from_step, values=dict.fromkeys(FIELDS, ""))
    recorded = form.recorded
    form.values |= {
        "change": "result" if kind in {"verdict", "decision"} else "again",
        "verdict": str(recorded.get("verdict", "")),
        "score": f"{recorded['score']:g}" if "score" in recorded else "",
        "reason": str(recorded.get("reason", "")),
        "text": str(recorded.get("text", recorded.get("content", ""))) if kind == "answer" else "",
        "data": pretty_json(recorded) if kind == "data" else "",
    }
    form.issues = tuple(issue_row(issue) for issue in recorded.get("issues") or [])
    asks = step is not None and step.kind in {Generate.kind, AwaitAttempt.kind}
    messages = step.request.get("messages") if step and asks and isinstance(step.request, dict) else None
    form.messages = tuple(
        {"role": str(message.get("role", "user")), "content": str(message.get("content", ""))}
        for message in (messages if isinstance(messages, list) else [])
    )
    return form


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
    if chosen := models_typed(form):
        asked["models"] = chosen
    if form.values["change"] == "messages" and form.has_prompt:
        asked["messages"] = [message for message in form.messages if message["content"].strip()]
    elif form.values["change"] == "result" and form.kind != "none":
        match form.kind:
            case "verdict":
                asked["result"] = _judged(form)
            case "decision":
                asked["result"] = _judged(form) | {"reason": form.values["reason"]}
            case "answer":
                is_handed_in = form.step is not None and form.step.kind == AwaitAttempt.kind
                asked["result"] = {"content" if is_handed_in else "text": form.values["text"]}
            case _:
                try:
                    asked["result"] = read_typed_json(form.values["data"])
                except NotJson as error:
                    form.errors["data"] = [str(error)]
                    asked["result"] = {}
    return asked


def _texts_of(form: ForkForm) -> Iterator[MarkableText]:
    """What the verdict's issues may mark: the attempt that it is on, and what tools put out."""
    number = form.step.attempt_number if form.step else None
    for attempt in Attempt.objects.filter(run=form.run, number=number or 0):
        yield MarkableText(attempt.content, attempt=attempt.number)
    yield from outputs_of(form.run.pk)


def _judged(form: ForkForm) -> dict[str, Any]:
    told: dict[str, Any] = {"verdict": form.values["verdict"]}
    try:
        told["issues"] = issues_of_rows(form.issues, _texts_of(form))
    except InvalidInput as problem:
        form.errors["issues"] = [str(problem)]
    before = f"{form.recorded['score']:g}" if "score" in form.recorded else ""
    # A score that nobody touched was the other verdict's: the action finds the one nearest to it that fits.
    if form.values["score"] != before:
        told["score"] = form.values["score"]
    return told


# A fork and its parent side by side, from the step where they part.

# Further ones are listed, not compared.
MOST_COMPARED = 60

# Names that tickets and reports get, and times, differ always and say nothing.
CHANCE_AND_CLOCK = {"ticket_id", "reflection_id", "timestamp", "duration_ms"}


@dataclass(frozen=True)
class Side:
    """One of the two runs, with what it keeps and the score of that."""

    run: Run
    score: float | None
    best: Attempt | None

    @property
    def content(self) -> str:
        return self.best.content if self.best else ""


@dataclass(frozen=True)
class Pair:
    """A step of the parent beside the fork's step of the same key; one of them may be missing."""

    left: StepLine | None
    right: StepLine | None
    is_compared: bool = True

    @cached_property
    def texts(self) -> tuple[str, str]:
        return result_text(self.left), result_text(self.right)

    @cached_property
    def differs(self) -> bool:
        if self.left is None or self.right is None:
            return True
        return self.texts[0] != self.texts[1] or self.left.step.state != self.right.step.state

    @cached_property
    def marked(self) -> tuple[SafeString, SafeString]:
        """Both texts with what differs marked; a text that stands alone is all new, and needs no marks."""
        if self.left and self.right:
            return marked(*self.texts)
        left, right = (format_html("{}", text[:LONGEST_COMPARED]) for text in self.texts)
        return left, right

    @property
    def has_text(self) -> bool:
        return any(self.texts)

    @property
    def is_cut(self) -> bool:
        return max(len(text) for text in self.texts) > LONGEST_COMPARED


@dataclass(frozen=True)
class Comparison:
    parent: Side
    fork: Side
    shared: int
    pairs: tuple[Pair, ...]

    @property
    def sides(self) -> tuple[Side, Side]:
        return self.parent, self.fork

    @property
    def kept_differs(self) -> bool:
        return self.parent.content != self.fork.content

    @cached_property
    def kept(self) -> tuple[SafeString, SafeString]:
        """What the two runs keep, with what differs marked."""
        return marked(self.parent.content, self.fork.content)


def compare(fork: Run, *, parent: Run) -> Comparison:
    """What the two share, and the rest of both in pairs of the same key, in the order in which they came."""
    parting = fork.forked_from_step or 1
    left = [StepLine(step) for step in Step.objects.filter(run=parent, seq__gte=parting)]
    right = [StepLine(step) for step in Step.objects.filter(run=fork, seq__gte=parting)]
    keys, other_keys = [line.step.key for line in left], [line.step.key for line in right]
    pairs: list[Pair] = []
    for tag, start, end, other_start, other_end in SequenceMatcher(None, keys, other_keys, False).get_opcodes():
        if tag == "equal":
            pairs += [Pair(*both) for both in zip(left[start:end], right[other_start:other_end], strict=True)]
        else:
            pairs += [Pair(line, None) for line in left[start:end]]
            pairs += [Pair(None, line) for line in right[other_start:other_end]]
    pairs = [Pair(pair.left, pair.right, is_compared=place < MOST_COMPARED) for place, pair in enumerate(pairs)]
    return Comparison(parent=_side(parent), fork=_side(fork), shared=parting - 1, pairs=tuple(pairs))


def _side(run: Run) -> Side:
    best = run.best_attempt
    decisive = decisive_scores([best.pk]).get(best.pk) if best else None
    return Side(run=run, score=decisive[0] if decisive else None, best=best)


def result_text(line: StepLine | None) -> str:
    """What a step came to, as text that can be compared."""
    if line is None:
        return ""
    step = line.step
    made = step.request if step.kind == KeepAttempt.kind else step.result
    if step.error or not isinstance(made, dict):
        return step.error
    if step.kind == Generate.kind:
        return str(made.get("text", ""))
    if step.kind in {AwaitAttempt.kind, KeepAttempt.kind}:
        return str(made.get("content", ""))
    if step.kind in {RecordVerdict.kind, AskReviewer.kind}:
        lines = [_("%(verdict)s, score %(score)s") % {"verdict": made.get("verdict"), "score": made.get("score")}]
        for issue in made.get("issues") or []:
            fix = issue.get("suggested_fix")
            lines.append(f"- {issue.get('description')}" + (f" ({fix})" if fix else ""))
        return "\n".join([*lines, str(made.get("reason") or "")]).strip()
    return pretty_json(_without_chance(made))


def _without_chance(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_chance(one) for name, one in value.items() if name not in CHANCE_AND_CLOCK}
    return [_without_chance(one) for one in value] if isinstance(value, list) else value
