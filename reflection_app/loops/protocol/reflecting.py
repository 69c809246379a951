"""Steps 1 to 3, Explore, Reflect and Classify: what there is, how it falls short, and which class of error that is.

A reflector whose answers cannot be used costs the analysis, never the run: code writes it from the ticket. What code
saw break off itself needs no model to explain it.
"""

import json

from pydantic import model_validator

from judgement.does_not_know import LONGEST_TASK, pieces_of
from reflection_app.loops.actor_critic import requirements_of
from reflection_app.loops.answer_reading import Lenient
from reflection_app.loops.answer_schemas import TEXT, closed_object, texts
from reflection_app.loops.answers import NoUsableAnswer, ask
from reflection_app.loops.effects import FindSimilarIssues
from reflection_app.loops.framing import framed, framed_task
from reflection_app.loops.progress import Progress
from reflection_app.loops.prompts import prompt
from reflection_app.loops.protocol.classification import classify, gather_facts, texts_in
from reflection_app.loops.protocol.error_classes import LenientText, LenientTexts
from reflection_app.loops.protocol.rounds import BrokenBy, Interruption, SentBack, framed_ticket, keep_stage
from reflection_app.loops.protocol.self_checks import interruption_of, text_of, unknown_of
from reflection_app.loops.protocol.stages import Classified, Explored, Reflected
from reflection_app.loops.task_spec import TaskSpec
from reflection_app.loops.tool_tries import task_of
from reflection_app.loops.values import Message, system, user

# Step 1, Explore: a snapshot of the present outputs and of where the run stands, made by code.

LONGEST_EXCERPT = 2_000
LONGEST_NAME = 200
MOST_NAMED = 100


async def explore(spec: TaskSpec, run: Progress, back: SentBack) -> Explored:
    """The snapshot, recorded."""
    handed_in, broken = run.handed_in.get(back.number), back.made.interruption
    content, artifacts, last_good_step = back.made.content, tuple[str, ...](), ""
    if handed_in is not None:
        last_good_step = text_of(handed_in.self_check, "last_good_step")
        artifacts = tuple(
            str(artifact.get("path") or artifact.get("name") or json.dumps(artifact, ensure_ascii=False))[:LONGEST_NAME]
            for artifact in handed_in.artifacts[:MOST_NAMED]
        )
    snapshot = Explored(
        characters=len(content),
        excerpt=content[:LONGEST_EXCERPT],
        artifacts=artifacts,
        files=spec.file_names[:MOST_NAMED],
        requirements=requirements_of(spec, content),
        earlier_tickets=tuple(ticket.ticket_id for number, ticket in run.tickets.items() if number < back.number),
        last_good_step=broken.last_good_step if broken is not None else last_good_step,
    )
    ticket = back.ticket
    return await keep_stage(
        run,
        back,
        key="explore",
        output=snapshot,
        ticket=ticket.ticket_id,
        trigger=ticket.trigger.value,
        verdict=ticket.verdict.value,
        score=ticket.quality_score,
    )


# Step 2, Reflect: what was expected, what there is, the gap between them, and how it came about.

TEMPERATURE = 0.3
MOST_REASKS = 1
LONGEST_DRAFT = 24_000
LONGEST_EXPECTED = 1_000


class ReflectorAnswer(Lenient):
    expected: LenientText = ""
    actual: LenientText = ""
    gap: LenientText = ""
    questions: LenientTexts = ()
    surface_issue: LenientText = ""
    occurrence_process: LenientTexts = ()
    root_cause: LenientText = ""
    missing: LenientText = ""
    missing_quote: LenientText = ""

    @model_validator(mode="after")
    def check_it_explains(self) -> "ReflectorAnswer":
        if not self.surface_issue or not self.root_cause:
            raise ValueError("surface_issue and root_cause must both say something")
        return self


ANSWER_SCHEMA = closed_object(
    expected=TEXT,
    actual=TEXT,
    gap=TEXT,
    questions=texts(5),
    surface_issue=TEXT,
    occurrence_process=texts(6),
    root_cause=TEXT,
    missing=TEXT,
    missing_quote=TEXT,
)


async def reflect(spec: TaskSpec, run: Progress, back: SentBack, explored: Explored) -> Reflected:
    """The analysis of the gap, recorded."""
    if (broken := back.made.interruption) is not None:
        analysis = explain_break(spec, broken)
    else:
        run.check_limits()
        request = run.model_call(
            key=f"attempt-{back.number}/reflect",
            role="reflector",
            messages=question(spec, back, explored),
            temperature=TEMPERATURE,
            json_schema=ANSWER_SCHEMA,
        )
        try:
            answer = await ask(run, request, schema=ReflectorAnswer, most_reasks=MOST_REASKS)
            analysis = Reflected(**answer.model_dump())
        except NoUsableAnswer:
            analysis = by_the_ticket(spec, back)
    return await keep_stage(
        run,
        back,
        key="reflect-kept",
        output=analysis,
        objective=spec.objective,
        issues=[issue.description[:200] for issue in back.ticket.issues[:20]],
        shown_characters=min(len(back.made.content), LONGEST_DRAFT),
    )


def question(spec: TaskSpec, back: SentBack, explored: Explored) -> tuple[Message, ...]:
    """What the reflector is asked. The draft stands in a frame that it cannot close."""
    files = ", ".join((*explored.artifacts, *explored.files)) or "(none)"
    text = prompt(
        "protocol_reflect",
        objective=framed_task(task_of(spec)),
        draft=framed(back.made.content or "(empty)", name="draft", most=LONGEST_DRAFT),
        ticket=framed_ticket(back),
        files=framed(files, name="files", most=LONGEST_EXPECTED),
    )
    return (system(prompt("protocol_system")), user(text))


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


# Step 3, Classify: the facts are gathered, and the tree of the seed names the class. No model is asked.

# Each takes up to 0.1 s to be read by its meaning.
MOST_PIECES = 12


async def classify_error(
    spec: TaskSpec, run: Progress, back: SentBack, explored: Explored, reflected: Reflected
) -> Classified:
    """The class with the facts that it follows from, recorded."""
    number = back.number
    # As the ticket has it: a person may have edited that in a fork.
    issues = back.ticket.issues
    judgement = back.judgement.model_copy(update={"issues": issues, "score": back.ticket.quality_score})
    handed_in = run.handed_in.get(number)
    check = handed_in.self_check if handed_in else None
    written = (back.made.content, *texts_in(check))
    similar = await run.perform(
        FindSimilarIssues(
            key=f"attempt-{number}/similar",
            attempt=number,
            issues=issues,
            task=spec.objective[:LONGEST_TASK],
            written=tuple(piece for text in written for piece in pieces_of(text))[:MOST_PIECES],
        )
    )
    broken = back.made.interruption
    facts = gather_facts(
        content=back.made.content,
        judgement=judgement,
        requirements=explored.requirements,
        interruption=broken.message if broken else interruption_of(check),
        broken_phase=broken.phase if broken else text_of(check, "phase"),
        self_check=check,
        unknown=unknown_of(check),
        similar=similar,
        reflected=reflected,
        thresholds=spec.thresholds,
    )
    return await keep_stage(
        run,
        back,
        key="classify",
        output=classify(facts),
        issues=[issue.description[:200] for issue in issues[:20]],
        reports_looked_at=similar.looked_at,
    )
