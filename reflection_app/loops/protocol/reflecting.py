"""Steps 1 to 3, Explore, Reflect and Classify: take a snapshot, analyze the gap, and determine the error class.

If the reflector's answers are unusable, code writes the analysis from the ticket, and the run continues. An
interruption that code detected needs no model to explain it.
"""

import json
from collections.abc import Mapping
from typing import Annotated

from pydantic import BeforeValidator, model_validator

from judgement.does_not_know import LONGEST_TASK, pieces_of
from reflection_app.loops.actor_critic import requirements_of
from reflection_app.loops.answer_reading import Lenient
from reflection_app.loops.answer_schemas import TEXT, Schema, closed_object, texts
from reflection_app.loops.answers import ask
from reflection_app.loops.attempt_effects import HandedIn
from reflection_app.loops.effect import EffectFailed, EffectTimedOut
from reflection_app.loops.effects import FindSimilarIssues
from reflection_app.loops.framing import framed, framed_task
from reflection_app.loops.progress import PriceUnknown, Progress
from reflection_app.loops.prompts import prompt
from reflection_app.loops.protocol.classification import classify, gather_facts, texts_in
from reflection_app.loops.protocol.error_classes import AlikeBy, LenientText, LenientTexts, SimilarIssue, item
from reflection_app.loops.protocol.rounds import BrokenBy, Interruption, SentBack, framed_ticket, keep_stage
from reflection_app.loops.protocol.self_checks import interruption_of, text_of, unknown_of
from reflection_app.loops.protocol.stages import Classified, Explored, Reflected
from reflection_app.loops.task_spec import TaskSpec
from reflection_app.loops.tool_tries import task_of
from reflection_app.loops.values import Message, system, user
from reflection_app.loops.verdicts import Issue

# Step 1, Explore: a snapshot of the current output and of the run's state, made by code

LONGEST_EXCERPT = 2_000
LONGEST_NAME = 200
MOST_NAMED = 100


async def explore(spec: TaskSpec, run: Progress, back: SentBack) -> Explored:
    """Record and return the snapshot."""
    handed_in, broken = run.handed_in.get(back.number), back.made.interruption
    content, last_good_step = back.made.content, ""
    if handed_in is not None:
        last_good_step = text_of(handed_in.self_check, "last_good_step")
    snapshot = Explored(
        characters=len(content),
        excerpt=content[:LONGEST_EXCERPT],
        artifacts=names_of_artifacts(handed_in),
        files=spec.file_names[:MOST_NAMED],
        requirements=requirements_of(spec, content, files=run.files.get(back.number)),
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


def names_of_artifacts(handed_in: HandedIn | None) -> tuple[str, ...]:
    """Return the names of the files submitted with an attempt, or their JSON if they have no name."""
    return tuple(
        str(artifact.get("path") or artifact.get("name") or json.dumps(artifact, ensure_ascii=False))[:LONGEST_NAME]
        for artifact in (handed_in.artifacts[:MOST_NAMED] if handed_in else ())
    )


# Step 2, Reflect: expected result, actual result, the gap, and its cause

TEMPERATURE = 0.3
MOST_REASKS = 1
LONGEST_DRAFT = 24_000
LONGEST_EXPECTED = 1_000


class SameAs(Lenient):
    """The earlier mistake that this one repeats, according to the reflector, with a quote from it."""

    earlier: LenientText = ""
    quote: LenientText = ""


class ReflectorAnswer(Lenient):
    expected: LenientText = ""
    actual: LenientText = ""
    gap: LenientText = ""
    questions: LenientTexts = ()
    surface_issue: LenientText = ""
    occurrence_process: LenientTexts = ()
    root_cause: LenientText = ""
    # Any other type counts as no answer to this question; the other fields are still used.
    same_as: Annotated[SameAs | None, BeforeValidator(lambda value: value if isinstance(value, dict) else None)] = None
    missing: LenientText = ""
    missing_quote: LenientText = ""

    @model_validator(mode="after")
    def check_it_explains(self) -> "ReflectorAnswer":
        if not self.surface_issue or not self.root_cause:
            raise ValueError("surface_issue and root_cause must both say something")
        return self


ANSWERS = {
    "expected": TEXT,
    "actual": TEXT,
    "gap": TEXT,
    "questions": texts(5),
    "surface_issue": TEXT,
    "occurrence_process": texts(6),
    "root_cause": TEXT,
    "missing": TEXT,
    "missing_quote": TEXT,
}
ANSWER_SCHEMA = closed_object(**ANSWERS)
SAME_AS: Schema = {"anyOf": [closed_object(earlier=TEXT, quote=TEXT), {"type": "null"}]}
WITH_EARLIER_SCHEMA = closed_object(**ANSWERS, same_as=SAME_AS)
MOST_EARLIER = 20
# Shorter quotes occur in every issue. A shorter issue must be quoted almost in full.
SHORTEST_QUOTE = 8


async def reflect(spec: TaskSpec, run: Progress, back: SentBack, explored: Explored) -> Reflected:
    """Record and return the analysis of the gap."""
    if (broken := back.made.interruption) is not None:
        analysis = explain_break(spec, broken)
    else:
        run.check_limits()
        before = [(number, ticket) for number, ticket in run.tickets.items() if number < back.number]
        newest = [issue for _, ticket in sorted(before, reverse=True) for issue in ticket.issues]
        earlier = {f"E{number}": issue for number, issue in enumerate(newest[:MOST_EARLIER], 1)}
        request = run.model_call(
            key=f"attempt-{back.number}/reflect",
            role="reflector",
            messages=question(spec, back, explored, earlier),
            temperature=TEMPERATURE,
            json_schema=WITH_EARLIER_SCHEMA if earlier else ANSWER_SCHEMA,
        )
        try:
            answer = await ask(run, request, schema=ReflectorAnswer, most_reasks=MOST_REASKS)
            same_as = checked_same_as(answer, earlier)
            analysis = Reflected(**answer.model_dump(exclude={"same_as"}), same_as=same_as)
        except (EffectTimedOut, PriceUnknown):
            raise
        except EffectFailed:
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


def checked_same_as(answer: ReflectorAnswer, earlier: Mapping[str, Issue]) -> SimilarIssue | None:
    """Return the earlier mistake named in the answer, if it contains the quoted words, else None."""
    said = answer.same_as
    issue = earlier.get(said.earlier.strip().upper()) if said else None
    if said is None or issue is None:
        return None
    quote, text = (" ".join(one.casefold().split()) for one in (said.quote.strip('"“”„「」 ….'), issue.description))
    if len(quote) < min(SHORTEST_QUOTE, len(text) - 1) or quote not in text:
        return None
    return SimilarIssue(
        category=issue.category,
        description=issue.description,
        now=answer.surface_issue,
        similarity=1,
        by=AlikeBy.REFLECTOR,
    )


def question(spec: TaskSpec, back: SentBack, explored: Explored, earlier: Mapping[str, Issue]) -> tuple[Message, ...]:
    """Return the reflector's messages. Draft and earlier issues are in frames that they cannot close."""
    files = ", ".join((*explored.artifacts, *explored.files)) or "(none)"
    text = prompt(
        "protocol_reflect",
        objective=framed_task(task_of(spec)),
        draft=framed(back.made.content or "(empty)", name="draft", most=LONGEST_DRAFT),
        ticket=framed_ticket(back),
        files=framed(files, name="files", most=LONGEST_EXPECTED),
    )
    if earlier:
        listed = "\n".join(item(f"{name}: {issue.description[:LONGEST_EXPECTED]}") for name, issue in earlier.items())
        text += "\n\n" + prompt("protocol_earlier", earlier=framed(listed, name="earlier", most=LONGEST_DRAFT))
    return (system(prompt("protocol_system")), user(text))


def by_the_ticket(spec: TaskSpec, back: SentBack) -> Reflected:
    """Return an analysis written from the ticket alone."""
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
    """Return the analysis of an interruption: the interrupted step, the one before it, and the reason."""
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


# Step 3, Classify: facts are gathered, and the seed's decision tree names the class; no model is called

# Reading one piece by meaning takes up to 0.1 s.
MOST_PIECES = 12


async def classify_error(
    spec: TaskSpec, run: Progress, back: SentBack, explored: Explored, reflected: Reflected
) -> Classified:
    """Record and return the error class with the facts it follows from."""
    number = back.number
    # Use the ticket's issues, because a fork may have edited them.
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
    same_as = reflected.same_as
    if same_as is not None and same_as.description not in {one.description for one in similar.found}:
        similar = similar.model_copy(update={"found": (*similar.found, same_as)})
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
