"""Make an attempt with a model or the external agent, at the same point of every loop."""

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

# Verdicts that wait for a review


@dataclass(frozen=True)
class Waits:
    """Review request for a verdict: the reason, the policy rule (from 1) and the number of reviewers."""

    reason: ReviewReason
    rule: int | None = None
    reviewers: int = 1
    why: tuple[str, ...] = ()


async def why_it_waits(spec: TaskSpec, run: Progress, judgement: Judgement) -> Waits | None:
    """Return the review request that the policy demands for `judgement`, or None.

    The first matching rule decides. A rule with a share below 1 draws at random; the journal stores the draw.
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
        if judgement.verdict is Verdict.REJECT:  # a rejection keeps its reason whichever rule matched
            reason = ReviewReason.REJECTED
        else:
            reason = ReviewReason.LOW_CONFIDENCE if rule.confidence_below is not None else ReviewReason.POLICY
        return Waits(reason, rule=number, reviewers=rule.reviewers)
    return None


# Final judgements, with a review where one is required


def end_by(judgement: Judgement, run: Progress, *, counted: Referee | None = None) -> Outcome | None:
    """Return the run's outcome if `judgement` ends it, or None if another attempt follows.

    If a reviewer sends an attempt back, another one follows regardless of scores. With `counted`, only that referee's
    scores count.
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
    """Return the final judgement: the referee's own, or a reviewer's if the policy requires a review.

    With `checkpoint`, a review is required regardless of the policy; its texts are the reasons. See `end_by` for
    `counted`.
    """
    if judgement.referee is Referee.PERSON:  # A person edited it in a fork, so no review is needed.
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
    """Return `judgement`, or a reviewer's judgement if the task requires one and the run would end now.

    Tasks without a required review perform no effect here, so loop versions are unchanged.
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
    """Request a review, record the decision and return it.

    `number` names the attempt after which the review is requested; `key` overrides the effect key. Raise
    AnsweredByPerson if the reviewer edited the answer, after storing that text as an attempt. No older journal contains
    an edit decision, so loop versions are unchanged.
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
    """Store the reviewer's text as a new attempt that passes. Raise AnsweredByPerson, which ends the run."""
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
    """Request an audit for a random share of judgements that got no review. Do not wait for it."""
    policy = spec.review_policy
    if policy.audit_share <= 0:
        return
    drawn = await run.perform(Draw(key=f"attempt-{judgement.attempt}/audit-draw", share=policy.audit_share))
    if drawn.hit:
        key = f"attempt-{judgement.attempt}/audit"
        await run.perform(RequestAudit(key=key, judgement=judgement, reviewers=policy.audit_reviewers))


# Rewind tickets: when an attempt is sent back, and the content of its ticket

# Referees from most to least informative: a person, those who read the attempt, then measurements.
TELLING = (Referee.PERSON, Referee.CRITIC, Referee.SELF, Referee.TESTS, Referee.TOOL, Referee.GENERATED_TESTS)
MEASURED = frozenset({Referee.TESTS, Referee.TOOL, Referee.GENERATED_TESTS})
TRIGGERS = {
    Referee.PERSON: Trigger.PERSONS_REVIEW,
    Referee.CRITIC: Trigger.CRITIC_EVALUATION,
    Referee.SELF: Trigger.SELF_CHECK,
}
# Default repair per category, for issues without a fix; from "create_repair_plan" of the design seed.
USUAL_REPAIRS = {
    IssueCategory.COMPLETENESS: "Find out what is missing and add it",
    IssueCategory.CORRECTNESS: "Check it against its source and put it right",
    IssueCategory.FORMAT: "Bring it into the form that was asked for",
    IssueCategory.QUALITY: "Rework the part that falls short",
    IssueCategory.OTHER: "Look into it and put it right",
}


async def issue_ticket(spec: TaskSpec, run: Progress, judgement: Judgement, *, trigger: Trigger) -> Ticket:
    """Return the attempt's rewind ticket, issuing one if it has none."""
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
    """Return the ticket that sends attempt `number` back, or None if no ticket is needed.

    Failed tests and tool calls of a model's own attempt are repaired within the loop, without a ticket.
    """
    sent_back = [judged for judged in reversed(run.judgements) if judged.attempt == number and not judged.passed]
    # The most informative judgement; among one referee's, the last.
    judgement = min(sent_back, key=lambda judged: TELLING.index(judged.referee), default=None)
    if judgement is None:
        return None
    if spec.execution is Execution.MANAGED and judgement.referee in MEASURED:
        return None
    trigger = TRIGGERS.get(judgement.referee, Trigger.FAILED_CHECK)
    return await issue_ticket(spec, run, judgement, trigger=trigger)


def repairs_of(judgement: Judgement) -> tuple[str, ...]:
    """Return the repair steps in order: a reviewer's suggestions, then each issue's fix or default repair.

    Suggestions of other referees come last. Duplicates are removed.
    """
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
    """Return the names of what is needed to repair the attempt."""
    needed = ["objective", f"attempt {judgement.attempt}"]
    if judgement.requirements is not None:
        needed += [f"requirement: {result.name}" for result in judgement.requirements.unmet]
    if judgement.tests is not None:
        needed += [f"test: {result.name}" for result in judgement.tests.failed[:20]]
    return (*needed, *(f"file: {name}" for name in spec.file_names[:20]))


# Lesson retrieval: once per run, before anything that the first attempt depends on


async def lessons_for(spec: TaskSpec, run: Progress, *, prompts: int = 1) -> Lessons | None:
    """Return the notebook's lessons for a managed run's first attempt; external agents retrieve their own.

    `prompts` is the number of prompts that contain the lessons, so that together they leave room for the work. A run
    without lessons in its specification performs no extra effect. Loop versions are unchanged, and suspended runs
    resume.
    """
    if run.lessons is None and spec.execution is Execution.MANAGED:
        recall = recall_for(spec, prompts=prompts)
        if recall is not None:
            run.lessons = await run.perform(recall)
    return run.lessons


async def task_with_lessons(spec: TaskSpec, run: Progress, *, task: str, prompts: int) -> str:
    """Return the task with its lessons, for prompts other than an attempt's own."""
    lessons = await lessons_for(spec, run, prompts=prompts)
    return prompt("told_lessons", task=task, lessons=lessons.block) if lessons and lessons.block else task


LONGEST_REDONE = 24_000
LONGEST_HINTS = 4_000


async def make_attempt(
    spec: TaskSpec, run: Progress, *, number: int, messages: tuple[Message, ...], role: str = "actor"
) -> str:
    """Return the text of attempt `number`, made by the model of `role` or submitted by the external agent.

    The previous attempt is sent back first. An incomplete attempt is added to `run.unfinished` and must not be
    evaluated. Raise LimitReached if no further attempt is allowed, and NoAnswer if the model returns no answer.
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
    """Inspect the files of attempt `number` if it has some or must; store the result in `run.files`.

    A run without files performs no extra effect, as before file inspection existed.
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
    """Return the messages with the required files and how to submit them."""
    if spec.requirements is None or not spec.requirements.files or not messages:
        return messages
    listed = "\n".join(f"- {required_in_words(one)}" for one in spec.requirements.files)
    name = "files_handed_in" if spec.execution is Execution.EXTERNAL else "files_written"
    return with_last(messages, prompt(name, task=messages[-1].content, files=listed))


async def keep_attempt(run: Progress, *, number: int, content: str, cut_off: bool = False) -> None:
    """Store an attempt that no single model call made."""
    await run.perform(KeepAttempt(key=f"attempt-{number}/kept", attempt=number, content=content, cut_off=cut_off))
    run.attempts.append(number)
    run.contents[number] = content
    if cut_off:
        run.unfinished.add(number)


async def _keep(run: Progress, answer: Answer, *, number: int) -> None:
    """Store the answer as the attempt. A complete answer from one call is already stored with that call."""
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
    """Return the feedback on an incomplete attempt for the next prompt. It is not recorded as a judgement."""
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
    """Return `messages` with the parts that all loops share, such as accepted instructions.

    For the first attempt these also include lessons, and the order of a redo or else start hints from earlier runs.
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


# Success of the first attempt: the measure for reflection and for the value of lessons.
#
# A run that stopped early still counts if its first attempt was judged. A good first attempt ends its run, so excluding
# later stops would exclude failures only. If only a weak referee judged a run that ended unverified, the result is
# unknown.


def first_attempt_succeeded(
    judgements: Iterable[Judgement], *, outcome: Outcome | None, kept: int | None, made: int
) -> bool | None:
    """Return True if attempt 1 was accepted, or None if that is unknown, as for an unfinished run.

    `kept` is the number of the attempt that the run retains, `made` the number of attempts. The strongest referee's
    judgement of attempt 1 decides. An accepted attempt still counts as failed if the run went on and retained another.
    """
    judged = _judged_first(judgements)
    if outcome is Outcome.UNVERIFIED and (judged is None or judged.referee.is_weak):
        return None
    return _was_accepted(judged, kept=kept, made=made) if outcome is not None else None


def first_attempt_failed(judgements: Iterable[Judgement], *, kept: int | None, made: int) -> bool:
    """Return True if attempt 1 of an ended run was not accepted.

    The strongest referee's judgement decides, even if that referee is weak. Unverified runs count too: their first
    attempt failed, and nothing shows that it was repaired.
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


# Conversation of a loop that continues in one context, bounded by the prompt budget

# Approximate bytes of UTF-8 per token; a bound needs no exact, model-specific count.
BYTES_PER_TOKEN = 4
# Upper bound of a prompt regardless of budget; models with small contexts refuse longer ones.
MOST_CONTEXT_TOKENS = 24_000
KEPT_OF_AN_ATTEMPT = 300
CUT = "[The rest of this attempt was cut to save room.]"


def tokens_of(messages: Sequence[Message]) -> int:
    """Return the approximate number of tokens in `messages`."""
    return sum(len(message.content.encode(errors="surrogatepass")) for message in messages) // BYTES_PER_TOKEN


def within(budget_tokens: int, *, task: Sequence[Message], turns: Sequence[Message]) -> tuple[Message, ...]:
    """Return the task and its turns in about half of `budget_tokens`, to leave room for the answer.

    The oldest attempts are shortened first, then the oldest turns are dropped. The task and the last turn stay
    complete.
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
        # Drop an attempt together with its feedback, so that the roles still alternate.
        del kept[: 2 if len(kept) > 2 else 1]
    return (*task, *kept)


# Prompts changed since a run began


def changed_since(recorded: Mapping[str, str]) -> list[str]:
    """Return the names of prompts that differ from `recorded` or were removed. New prompts do not count."""
    today = versions()
    return sorted(name for name, version in recorded.items() if today.get(name) != version)
