"""Making an attempt: by a model of ours or by the outside agent, in the same place of every loop."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

from reflection_app.loops.answers import Answer, complete_answer
from reflection_app.loops.attempt_effects import (
    AskReviewer,
    AwaitAttempt,
    Draw,
    EditedAnswer,
    InspectFiles,
    KeepAttempt,
    RequestAudit,
    ReviewDecision,
    ReviewReason,
)
from reflection_app.loops.chain_of_thought import asking_for_parts
from reflection_app.loops.completeness.file_checks import files_written_in, required_in_words
from reflection_app.loops.completeness.looking import FILES_TIMEOUT_S, inspect_produced
from reflection_app.loops.effect import EffectFailed
from reflection_app.loops.effects import IssueTicket
from reflection_app.loops.framing import framed
from reflection_app.loops.lessons import Lessons, recall_for
from reflection_app.loops.marks import with_passage
from reflection_app.loops.progress import AnsweredByPerson, LimitReached, Progress, strongest_judgements
from reflection_app.loops.prompts import prompt, versions
from reflection_app.loops.task_spec import Execution, RuleAction, TaskSpec
from reflection_app.loops.texts import cut_with
from reflection_app.loops.tickets import Ticket, TicketDraft, Trigger
from reflection_app.loops.values import Message, assistant, user, with_last
from reflection_app.loops.verdicts import Issue, IssueCategory, Judgement, Outcome, Referee, Severity, Verdict

# Which verdicts wait for a person.


@dataclass(frozen=True)
class Waits:
    """That a verdict waits: why, by which rule of the policy (counted from 1), and for how many people."""

    reason: ReviewReason
    rule: int | None = None
    reviewers: int = 1
    why: tuple[str, ...] = ()


async def why_it_waits(spec: TaskSpec, run: Progress, judgement: Judgement) -> Waits | None:
    """Why this verdict waits for a person, or None where it stands at once.

    The first rule that fits decides. A rule for a share of what fits draws; the draw is kept in the journal.
    """
    for number, rule in enumerate(spec.review_policy.rules, start=1):
        if not rule.fits(judgement, kind=spec.kind, agent=spec.agent, cost_usd=run.cost_usd):
            continue
        if rule.share < 1:
            key = f"attempt-{judgement.attempt}/rule-{number}-draw"
            drawn = await run.perform(Draw(key=key, share=rule.share))
            if not drawn.hit:
                continue
        if rule.action is RuleAction.STAND:
            return None
        if judgement.verdict is Verdict.REJECT:  # a rejection is one whatever rule found it
            reason = ReviewReason.REJECTED
        else:
            reason = ReviewReason.LOW_CONFIDENCE if rule.confidence_below is not None else ReviewReason.POLICY
        return Waits(reason, rule=number, reviewers=rule.reviewers)
    return None


# Whether a judgement stands, or a person is asked first.


def end_by(judgement: Judgement, run: Progress, *, counted: Referee | None = None) -> Outcome | None:
    """The run's end where the judgement that holds means one, or None where another attempt should follow.

    A person who sends an attempt back wants another one, whatever the scores say. With `counted`, only that referee's
    scores say anything.
    """
    if judgement.verdict is Verdict.PASS:
        return Outcome.SUCCEEDED
    if judgement.verdict is Verdict.REJECT:
        return Outcome.REJECTED
    return None if judgement.referee is Referee.PERSON else run.stop_by_scores(counted=counted)


async def settle(
    spec: TaskSpec,
    run: Progress,
    judgement: Judgement,
    *,
    checkpoint: tuple[str, ...] = (),
    counted: Referee | None = None,
) -> Judgement:
    """The judgement that holds: the referee's own, or a person's where the policy makes the run wait for one.

    A `checkpoint` makes it wait whatever the policy, and is why. `counted` is as in `end_by`.
    """
    if judgement.referee is Referee.PERSON:  # a person edited it, in a fork; nobody needs to be asked again
        return judgement
    waits = Waits(ReviewReason.CHECKPOINT, why=checkpoint) if checkpoint else await why_it_waits(spec, run, judgement)
    if waits is None:
        confirmed = await confirm(spec, run, judgement, counted=counted)
        if confirmed is judgement:
            await draw_audit(spec, run, judgement)
        return confirmed
    if not waits.why and judgement.passed:
        waits = replace(waits, why=run.uninspected(judgement.attempt))
    await ask_reviewer(run, judgement, waits)
    return run.judgements[-1]


async def confirm(spec: TaskSpec, run: Progress, judgement: Judgement, *, counted: Referee | None = None) -> Judgement:
    """Return the judgement, or a reviewer's in its place where the task requires a review and the run would end by it.

    Without such a task no effect is performed, so the loops' versions stay as they are.
    """
    if judgement.referee is Referee.PERSON or not spec.requires_review:
        return judgement
    if end_by(judgement, run, counted=counted) is None:
        return judgement
    why = run.uninspected(judgement.attempt) if judgement.passed else ()
    await ask_reviewer(run, judgement, Waits(ReviewReason.REQUIRED, why=why))
    return run.judgements[-1]


async def ask_reviewer(
    run: Progress, judgement: Judgement, waits: Waits, *, number: int | None = None, key: str = ""
) -> ReviewDecision:
    """What a person decides of a judgement, noted; `number` names the attempt after which it is asked, as `key` does.

    Raises AnsweredByPerson where the person edited the answer, once that text is kept as an attempt. No journal of
    before holds such a decision, so the loops' versions stay as they are.
    """
    review = AskReviewer(
        key=key or f"attempt-{number or judgement.attempt}/review",
        judgement=judgement,
        reason=waits.reason,
        why=waits.why,
        rule=waits.rule,
        reviewers=waits.reviewers,
    )
    decision = await run.perform(review)
    run.judgements.append(decision.judgement_of(judgement.attempt))
    run.reviewed = len(run.attempts)
    if decision.edited is not None:
        await keep_edited(run, decision.edited, edited_from=judgement.attempt, edited_by=decision.reviewer)
    return decision


async def keep_edited(run: Progress, edited: EditedAnswer, *, edited_from: int, edited_by: str) -> NoReturn:
    """Keeps a person's text as an attempt of its own that has passed. Raises AnsweredByPerson, which ends the run."""
    number = max(run.attempts, default=0) + 1
    await run.perform(
        KeepAttempt(
            key=f"attempt-{number}/edited",
            attempt=number,
            content=edited.content,
            edited_from=edited_from,
            edited_by=edited_by,
        )
    )
    run.attempts.append(number)
    await run.record(edited.judgement_of(number), key=f"attempt-{number}/verdict")
    raise AnsweredByPerson(number)


async def draw_audit(spec: TaskSpec, run: Progress, judgement: Judgement) -> None:
    """Puts a share of the judgements that stand before people, without waiting."""
    policy = spec.review_policy
    if policy.audit_share <= 0:
        return
    drawn = await run.perform(Draw(key=f"attempt-{judgement.attempt}/audit-draw", share=policy.audit_share))
    if drawn.hit:
        key = f"attempt-{judgement.attempt}/audit"
        await run.perform(RequestAudit(key=key, judgement=judgement, reviewers=policy.audit_reviewers))


# When an attempt goes back with a rewind ticket, and what stands on the ticket.

# Who says most about what is wrong, first: a person, then who read the attempt, then what only measured it.
TELLING = (Referee.PERSON, Referee.CRITIC, Referee.SELF, Referee.TESTS, Referee.TOOL, Referee.GENERATED_TESTS)
MEASURED = frozenset({Referee.TESTS, Referee.TOOL, Referee.GENERATED_TESTS})
TRIGGERS = {
    Referee.PERSON: Trigger.PERSONS_REVIEW,
    Referee.CRITIC: Trigger.CRITIC_EVALUATION,
    Referee.SELF: Trigger.SELF_CHECK,
}
# What to do about an issue that names no fix of its own; after "create_repair_plan" of the design seed.
USUAL_REPAIRS = {
    IssueCategory.COMPLETENESS: "Find out what is missing and add it",
    IssueCategory.CORRECTNESS: "Check it against its source and put it right",
    IssueCategory.FORMAT: "Bring it into the form that was asked for",
    IssueCategory.QUALITY: "Rework the part that falls short",
    IssueCategory.OTHER: "Look into it and put it right",
}


async def issue_ticket(spec: TaskSpec, run: Progress, judgement: Judgement, *, trigger: Trigger) -> Ticket:
    """The ticket that sends the judged attempt back; the one that it has, where it has one."""
    number = judgement.attempt
    if number not in run.tickets:
        draft = TicketDraft(
            attempt=number,
            trigger=trigger,
            target_agent=spec.agent,
            target_phase=spec.phase or "attempt",
            verdict=judgement.verdict,
            quality_score=judgement.score,
            issues=judgement.issues,
            repair_plan=repairs_of(judgement),
            context_needed=context_for(spec, judgement),
        )
        run.tickets[number] = await run.perform(IssueTicket(key=f"attempt-{number}/ticket", draft=draft))
    return run.tickets[number]


async def send_back(spec: TaskSpec, run: Progress, *, number: int) -> Ticket | None:
    """The ticket with which attempt `number` went back, or None where another follows without one.

    What a test or a tool measured of a model's own attempt is repaired within the loop, and nobody is sent a ticket.
    """
    sent_back = [judged for judged in reversed(run.judgements) if judged.attempt == number and not judged.passed]
    # The one that says most about why; of one referee's, the last.
    judgement = min(sent_back, key=lambda judged: TELLING.index(judged.referee), default=None)
    if judgement is None:
        return None
    if spec.execution is Execution.MANAGED and judgement.referee in MEASURED:
        return None
    trigger = TRIGGERS.get(judgement.referee, Trigger.FAILED_CHECK)
    return await issue_ticket(spec, run, judgement, trigger=trigger)


def repairs_of(judgement: Judgement) -> tuple[str, ...]:
    """What is to be done, in order: a person's words, each issue's fix, and what usually helps where none is named."""
    steps = [*judgement.feedback.suggestions] if judgement.referee is Referee.PERSON else []
    steps += [
        with_passage(issue.suggested_fix.strip() or f"{USUAL_REPAIRS[issue.category]}: {issue.description}", issue.mark)
        + (f" ({issue.region.told()})" if issue.region else "")
        for issue in judgement.issues
    ]
    if judgement.referee is not Referee.PERSON:
        steps += judgement.feedback.suggestions
    return tuple(dict.fromkeys(step for step in steps if step.strip()))


def context_for(spec: TaskSpec, judgement: Judgement) -> tuple[str, ...]:
    """What whoever repairs it has to have before them."""
    needed = ["objective", f"attempt {judgement.attempt}"]
    if judgement.requirements is not None:
        needed += [f"requirement: {result.name}" for result in judgement.requirements.unmet]
    if judgement.tests is not None:
        needed += [f"test: {result.name}" for result in judgement.tests.failed[:20]]
    return (*needed, *(f"file: {name}" for name in spec.file_names[:20]))


# Recalling what the notebook has for a run, once and before anything that its first attempt rests on is asked.


async def lessons_for(spec: TaskSpec, run: Progress, *, prompts: int = 1) -> Lessons | None:
    """What the notebook has for the first attempt of our own models; an outside agent recalls by itself.

    `prompts` is how many are told of it, so that all of them together leave room for the work. A run whose
    specification names no lessons performs just the effects that it performed before there were any: the loops'
    versions stay as they are, and what waited meanwhile goes on.
    """
    if run.lessons is None and spec.execution is Execution.MANAGED:
        recall = recall_for(spec, prompts=prompts)
        if recall is not None:
            run.lessons = await run.perform(recall)
    return run.lessons


async def task_with_lessons(spec: TaskSpec, run: Progress, *, task: str, prompts: int) -> str:
    """The task as it is told outside of an attempt's own prompt, with the lessons for it."""
    lessons = await lessons_for(spec, run, prompts=prompts)
    return prompt("told_lessons", task=task, lessons=lessons.block) if lessons and lessons.block else task


LONGEST_REDONE = 24_000
LONGEST_HINTS = 4_000


async def make_attempt(
    spec: TaskSpec, run: Progress, *, number: int, messages: tuple[Message, ...], role: str = "actor"
) -> str:
    """The text of attempt `number`, made from `messages` by the model of `role` or handed in by the outside agent.

    The attempt before it is sent back first. One that could not be brought to its end is among `run.unfinished`, and
    nobody is to judge it. Raises LimitReached where there is no room for another attempt, and NoAnswer where the model
    sends nothing that is one.
    """
    run.check_limits()
    if number > 1:
        await send_back(spec, run, number=number - 1)
    key = f"attempt-{number}/answer"
    lessons = await lessons_for(spec, run) if number == 1 else None
    messages = telling_of_files(spec, attempt_messages(spec, messages, number=number, lessons=lessons))
    if spec.execution is Execution.EXTERNAL:
        handed_in = await run.perform(AwaitAttempt(key=key, attempt=number, messages=messages))
        run.handed_in[number] = handed_in
        run.attempts.append(number)
        run.contents[number] = handed_in.content
        await look_at_files(spec, run, number=number, content=handed_in.content, came=bool(handed_in.files))
        return handed_in.content
    request = run.model_call(key=key, role=role, messages=messages, attempt=number)
    answer = Answer()
    try:
        await complete_answer(run, request, answer)
    except (LimitReached, EffectFailed):
        await _keep(run, answer, number=number)
        raise
    await _keep(run, answer, number=number)
    run.note_result(answer.text)
    if number not in run.unfinished:
        await look_at_files(spec, run, number=number, content=answer.text)
    return answer.text


async def look_at_files(spec: TaskSpec, run: Progress, *, number: int, content: str, came: bool = False) -> None:
    """Opens what attempt `number` produced, where files came with it or are required of it; `run.files` has it then.

    A run without either performs just the effects that it performed before files were looked at.
    """
    required = spec.requirements.files if spec.requirements else ()
    if not required and not came and not run.has_produced_files:
        return
    effect = InspectFiles(
        key=f"attempt-{number}/files",
        attempt=number,
        requirements=required,
        is_written=bool(required and files_written_in(content)),
        timeout_s=FILES_TIMEOUT_S,
    )
    run.files[number] = await inspect_produced(spec, run, effect, base=f"attempt-{number}")


def telling_of_files(spec: TaskSpec, messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """The messages with the files that the task requires, and how to hand them in."""
    if spec.requirements is None or not spec.requirements.files or not messages:
        return messages
    listed = "\n".join(f"- {required_in_words(one)}" for one in spec.requirements.files)
    name = "files_handed_in" if spec.execution is Execution.EXTERNAL else "files_written"
    return with_last(messages, prompt(name, task=messages[-1].content, files=listed))


async def keep_attempt(run: Progress, *, number: int, content: str, cut_off: bool = False) -> None:
    """Keeps an attempt that no single call of a model made."""
    await run.perform(KeepAttempt(key=f"attempt-{number}/kept", attempt=number, content=content, cut_off=cut_off))
    run.attempts.append(number)
    run.contents[number] = content
    if cut_off:
        run.unfinished.add(number)


async def _keep(run: Progress, answer: Answer, *, number: int) -> None:
    """Keeps what there is of the answer as the attempt: one that came whole from one call is kept with that call."""
    if not answer.parts:
        return
    if answer.parts > 1 or not answer.is_whole:
        await keep_attempt(run, number=number, content=answer.text, cut_off=not answer.is_whole)
    else:
        run.attempts.append(number)
        run.contents[number] = answer.text
    if answer.is_whole and answer.reached_length:
        run.cut_off.add(number)


def unfinished(number: int) -> Judgement:
    """What the next attempt is told of one that never came to its end. It is not recorded: nobody judged anything."""
    issue = Issue(
        category=IssueCategory.COMPLETENESS,
        severity=Severity.CRITICAL,
        description="It was cut off before its end, so nobody judged it.",
        suggested_fix="Answer again, whole and shorter",
    )
    return Judgement(attempt=number, referee=Referee.TOOL, verdict=Verdict.REVISE, score=0, issues=(issue,))


def attempt_messages(
    spec: TaskSpec, messages: tuple[Message, ...], *, number: int, lessons: Lessons | None = None
) -> tuple[Message, ...]:
    """The messages with what holds in every loop: accepted instructions, and for the first attempt a person's order.

    The first attempt is told lessons as well and, where its work was not ordered again, what earlier runs noted for a
    better start.
    """
    if lessons is not None and lessons.block and messages:
        messages = with_last(messages, prompt("told_lessons", task=messages[-1].content, lessons=lessons.block))
    if spec.instructions and messages and messages[0].role == "system":
        listed = "\n".join(f"- {text}" for text in spec.instructions)
        first = messages[0].model_copy(
            update={"content": prompt("agent_instructions", system=messages[0].content, instructions=listed)}
        )
        messages = (first, *messages[1:])
    if spec.redo is not None and number == 1:
        again = prompt("redo_order", instructions=spec.redo.instructions)
        messages = (*messages, assistant(spec.redo.content[:LONGEST_REDONE]), user(again))
    elif spec.hints and number == 1 and messages:
        listed = framed("\n".join(f"- {hint}" for hint in spec.hints), name="notes", most=LONGEST_HINTS)
        task = prompt("start_hints", task=messages[-1].content, hints=listed)
        messages = with_last(messages, task)
    return asking_for_parts(messages) if spec.chain_of_thought else messages


# Whether a run's first attempt was good enough: what reflection, and the worth of lessons, are measured by.
#
# A run that stopped early still tells, as far as its first attempt was judged: one that is good ends its run, so
# leaving out what stopped later would leave out failures alone. Where only a weak referee's word stands in a run that
# ended unverified, nothing is known.


def first_attempt_succeeded(
    judgements: Iterable[Judgement], *, outcome: Outcome | None, kept: int | None, made: int
) -> bool | None:
    """Whether attempt 1 was accepted; None where nothing can tell, as of a run that has not ended.

    `kept` is the number of the attempt that the run keeps, `made` how many there are. The strongest referee's word on
    attempt 1 holds. What it let pass has failed all the same where the run went on and kept another.
    """
    judged = _judged_first(judgements)
    if outcome is Outcome.UNVERIFIED and (judged is None or judged.referee.is_weak):
        return None
    return _was_accepted(judged, kept=kept, made=made) if outcome is not None else None


def first_attempt_failed(judgements: Iterable[Judgement], *, kept: int | None, made: int) -> bool:
    """Whether attempt 1 of a run that has ended fell short by any word on it, a weak referee's too, or the run went on.

    That is said of a run that ended unverified as well: its first attempt failed, and nothing shows it to be mended.
    """
    return _was_accepted(_judged_first(judgements), kept=kept, made=made) is False


def _judged_first(judgements: Iterable[Judgement]) -> Judgement | None:
    return strongest_judgements(judged for judged in judgements if not judged.is_void).get(1)


def _was_accepted(judged: Judgement | None, *, kept: int | None, made: int) -> bool | None:
    if not made:
        return None
    if judged is None:
        return False if made > 1 else None
    return judged.passed and (kept == 1 or judged.referee is Referee.PERSON)


# The conversation of a loop that works on in one context, kept within what the budget leaves for a prompt.

# About what a token takes in UTF-8; exact counts differ by model and are not needed for a bound.
BYTES_PER_TOKEN = 4
# What a prompt may take at most, whatever the budget: beyond that, models with small contexts refuse it.
MOST_CONTEXT_TOKENS = 24_000
KEPT_OF_AN_ATTEMPT = 300
CUT = "[The rest of this attempt was cut to save room.]"


def tokens_of(messages: Sequence[Message]) -> int:
    """About how many tokens the messages take."""
    return sum(len(message.content.encode(errors="surrogatepass")) for message in messages) // BYTES_PER_TOKEN


def within(budget_tokens: int, *, task: Sequence[Message], turns: Sequence[Message]) -> tuple[Message, ...]:
    """The task and the turns after it, in about half of `budget_tokens`, so that an answer fits into the rest.

    The oldest attempts are cut first, then the oldest turns are left out. The task and the last turn always stay whole.
    """
    room = min(budget_tokens // 2, MOST_CONTEXT_TOKENS)
    kept = list(turns)
    for place in range(len(kept) - 1):
        if tokens_of([*task, *kept]) <= room:
            break
        if kept[place].role == "assistant":
            shortened = cut_with(kept[place].content, KEPT_OF_AN_ATTEMPT, note=CUT)
            kept[place] = kept[place].model_copy(update={"content": shortened})
    while len(kept) > 1 and tokens_of([*task, *kept]) > room:
        # An attempt goes together with what was said of it, so that the roles still take turns.
        del kept[: 2 if len(kept) > 2 else 1]
    return (*task, *kept)


# Which prompts were changed since a run began.


def changed_since(recorded: Mapping[str, str]) -> list[str]:
    """The names of the prompts that read otherwise than in `recorded`, or are no more; new ones are no change."""
    today = versions()
    return sorted(name for name, version in recorded.items() if today.get(name) != version)
