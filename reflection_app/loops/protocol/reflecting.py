"""Step 2, Reflect: what was expected, what there is, the gap between them, and how it came about.

A reflector whose answers cannot be used costs the analysis, never the run: code writes it from the ticket. What code
saw break off itself needs no model to explain it.
"""

from typing import Any

from pydantic import model_validator

from reflection_app.loops.attempt_effects import Generate
from reflection_app.loops.framing import framed_task
from reflection_app.loops.lenient_values import Lenient
from reflection_app.loops.messages import Message, system, user
from reflection_app.loops.progress import Progress
from reflection_app.loops.prompts import prompt
from reflection_app.loops.protocol.keeping import keep_stage
from reflection_app.loops.protocol.lenient_texts import Said, SaidMany
from reflection_app.loops.protocol.rounds import BrokenBy, Interruption, SentBack
from reflection_app.loops.protocol.stages import Explored, Reflected
from reflection_app.loops.protocol.told_tickets import framed_ticket
from reflection_app.loops.structured_answers import NoUsableAnswer, ask
from reflection_app.loops.task_spec import TaskSpec
from reflection_app.loops.tool_frames import framed
from reflection_app.loops.tool_tries import task_of

TEMPERATURE = 0.3
MOST_REASKS = 1
LONGEST_DRAFT = 24_000
LONGEST_EXPECTED = 1_000


class ReflectorAnswer(Lenient):
    expected: Said = ""
    actual: Said = ""
    gap: Said = ""
    questions: SaidMany = ()
    surface_issue: Said = ""
    occurrence_process: SaidMany = ()
    root_cause: Said = ""

    @model_validator(mode="after")
    def check_it_explains(self) -> "ReflectorAnswer":
        if not self.surface_issue or not self.root_cause:
            raise ValueError("surface_issue and root_cause must both say something")
        return self


def _texts(most: int) -> dict[str, Any]:
    return {"type": "array", "items": {"type": "string"}, "maxItems": most}


_FIELDS: dict[str, Any] = {
    "expected": {"type": "string"},
    "actual": {"type": "string"},
    "gap": {"type": "string"},
    "questions": _texts(5),
    "surface_issue": {"type": "string"},
    "occurrence_process": _texts(6),
    "root_cause": {"type": "string"},
}
ANSWER_SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": list(_FIELDS),
    "properties": _FIELDS,
}


async def reflect(spec: TaskSpec, run: Progress, back: SentBack, explored: Explored) -> Reflected:
    """The analysis of the gap, recorded."""
    broken = back.made.interruption
    analysis = explain_break(spec, broken) if broken else await _asked(spec, run, back, explored)
    return await keep_stage(
        run,
        back,
        key="reflect-kept",
        output=analysis,
        objective=spec.objective,
        issues=[issue.description[:200] for issue in back.ticket.issues[:20]],
        shown_characters=min(len(back.made.content), LONGEST_DRAFT),
    )


async def _asked(spec: TaskSpec, run: Progress, back: SentBack, explored: Explored) -> Reflected:
    run.check_limits()
    request = Generate(
        key=f"attempt-{back.number}/reflect",
        role="reflector",
        messages=question(spec, back, explored),
        temperature=TEMPERATURE,
        max_tokens=run.tokens_left,
        timeout_s=run.time_left_s(),
        json_schema=ANSWER_SCHEMA,
    )
    try:
        said = await ask(run, request, schema=ReflectorAnswer, most_reasks=MOST_REASKS)
    except NoUsableAnswer:
        return by_the_ticket(spec, back)
    return Reflected(**said.model_dump())


def question(spec: TaskSpec, back: SentBack, explored: Explored) -> tuple[Message, ...]:
    """What the reflector is asked. The draft stands in a frame that it cannot close."""
    files = ", ".join((*explored.artifacts, *explored.files)) or "(none)"
    asked = prompt(
        "protocol_reflect",
        objective=framed_task(task_of(spec)),
        draft=framed(back.made.content or "(empty)", name="draft", most=LONGEST_DRAFT),
        ticket=framed_ticket(back),
        files=framed(files, name="files", most=LONGEST_EXPECTED),
    )
    return (system(prompt("protocol_system")), user(asked))


def by_the_ticket(spec: TaskSpec, back: SentBack) -> Reflected:
    """What the ticket alone says of the gap."""
    issues = tuple(issue.description for issue in back.ticket.issues)
    first = issues[0] if issues else f"It was sent back with a score of {back.ticket.quality_score:g}."
    return Reflected(
        expected=spec.objective[:LONGEST_EXPECTED],
        actual=f"An answer of {len(back.made.content):,} characters.",
        gap="; ".join(issues)[:LONGEST_EXPECTED],
        questions=tuple(f"What is needed to settle this: {issue[:300]}" for issue in issues[:3]),
        surface_issue=first,
        root_cause="Not analysed: the reflector gave no usable answer.",
        is_fallback=True,
    )


def explain_break(spec: TaskSpec, broken: Interruption) -> Reflected:
    """What code saw: which step broke off, after which, and why."""
    is_cut = broken.by is BrokenBy.CUT_OFF
    surface = "The answer was cut off before its end." if is_cut else "The call of the model failed for good."
    before = f"The last step that worked: {broken.last_good_step}" if broken.last_good_step else "No step before it."
    return Reflected(
        expected=spec.objective[:LONGEST_EXPECTED],
        actual="The beginning of an answer." if is_cut else "No answer.",
        gap="The rest of the answer." if is_cut else "The whole answer.",
        surface_issue=surface,
        occurrence_process=(before, f"The step {broken.phase} broke off: {broken.message}"),
        root_cause=broken.message,
    )
