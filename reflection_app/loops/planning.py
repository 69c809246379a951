"""Planning loop: make a plan, check it, carry it out step by step with tools, and write an answer from the results.

Source: the PlanningEngine of the design seeds. If steps fail, the next attempt plans the missing parts with the results
so far. An attempt's content is the answer. The tools' judgement of it is the share of steps done.

Before the answer is written, a completeness check looks for what the plan omitted, and supplements are carried out (see
completeness/supplementing.py). If the project samples its runs, a draw made once per run decides whether it is checked
(see completeness/sampling.py). What is still missing is named in the answer and in the verdict's issues. It does not
undo the steps that worked.

Working tools do not make the answer right. After a fully executed plan, a critic evaluates the answer as in
actor_critic. An answer that is sent back is written again from the same results. Without a critic the run ends as
unverified. The tools' verdict is stored after the critic's and is never better. As the stronger referee's, it decides
which attempt is retained. Tools that worked do not support an answer that was sent back.

If a limit or an error stops the run midway, the results of its steps are stored as an attempt.
"""

from reflection_app.loops.actor_critic import Earlier, actor_messages, evaluate
from reflection_app.loops.attempts import confirm, end_by, keep_attempt, make_attempt, settle, unfinished
from reflection_app.loops.completeness.supplementing import supply_what_is_missing
from reflection_app.loops.effect import EffectFailed
from reflection_app.loops.framing import framed
from reflection_app.loops.plan_steps import Work, carry_out, judge_steps, make_plan, results_in_words
from reflection_app.loops.progress import LimitReached, Progress
from reflection_app.loops.prompts import prompt
from reflection_app.loops.task_spec import TaskSpec
from reflection_app.loops.values import Message
from reflection_app.loops.verdicts import Judgement, Outcome, Referee

LONGEST_MISSING = 8_000


async def planning(spec: TaskSpec, run: Progress) -> Outcome:
    """Make plans and answers until one is accepted or rejected, or a limit is reached.

    Raise EffectFailed if no plan can be carried out.
    """
    work, earlier = Work(), list[Earlier]()
    for number in range(1, spec.limits.max_iterations + 1):
        try:
            outcome = await _attempt(spec, run, work=work, earlier=earlier, number=number)
        except (LimitReached, EffectFailed):
            # Store the attempt in progress, with the results of its steps in place of the missing answer.
            stopped = ""
            if number not in run.attempts and work.done_by_newest:
                await keep_attempt(run, number=number, content=work.as_answer())
                stopped = "The run stopped before the answer was written."
            elif number in run.attempts and not any(
                judged.attempt == number and judged.referee >= Referee.TOOL for judged in run.judgements
            ):
                stopped = "The run stopped before the answer was judged."
            if stopped:
                await _record(run, judge_steps(work, attempt=number, stopped=stopped))
            raise
        if outcome is not None:
            return outcome
    return Outcome.EXHAUSTED


async def _attempt(spec: TaskSpec, run: Progress, *, work: Work, earlier: list[Earlier], number: int) -> Outcome | None:
    """Return the run's outcome, or None if another attempt follows."""
    work.done_by_newest = 0
    if not work.is_complete():
        plan = await make_plan(spec, run, work, number=number)
        work.begin()
        await carry_out(plan, spec=spec, run=run, work=work, number=number)
        await supply_what_is_missing(spec, run, work, number=number)
    text = await make_attempt(spec, run, number=number, messages=answer_messages(spec, work, earlier))
    if number in run.unfinished:
        await _record(run, judge_steps(work, attempt=number, stopped="The answer was cut off before its end."))
        earlier.append(Earlier(text, unfinished(number)))
        return None
    if (checked := run.files.get(number)) is not None:
        work.file_faults = tuple(f"{one.file}: {one.fault.in_words}" for one in checked.deciding)
    if not work.is_complete() or not spec.has_critic:
        judgement = await confirm(spec, run, await _record(run, judge_steps(work, attempt=number)))
        if judgement.referee is Referee.PERSON:
            if (end := end_by(judgement, run)) is None:
                earlier.append(Earlier(text, judgement))
            return end
        passed = Outcome.UNVERIFIED if work.is_complete() else Outcome.SUCCEEDED
        return passed if judgement.passed else None
    run.check_limits()
    judged = await evaluate(spec, run, attempt=number, content=text)
    judgement = await settle(spec, run, judged, counted=Referee.CRITIC)
    await _record(run, judge_steps(work, attempt=number, answer=judgement))
    if (end := end_by(judgement, run, counted=Referee.CRITIC)) is None:
        earlier.append(Earlier(text, judgement))
    return end


async def _record(run: Progress, judgement: Judgement) -> Judgement:
    return await run.record(judgement, key=f"attempt-{judgement.attempt}/steps-verdict")


def answer_messages(spec: TaskSpec, work: Work, earlier: list[Earlier]) -> tuple[Message, ...]:
    """Return the messages for the final answer: the goal, all results, and what is missing."""
    failed = f"\nThese steps could not be done:\n\n{work.failures_in_words()}\n" if work.left_undone else ""
    if work.still_missing:
        listed = "\n".join(f"- {one}" for one in work.still_missing)
        failed += (
            "\n" + prompt("completeness_missing", missing=framed(listed, name="missing", most=LONGEST_MISSING)) + "\n"
        )
    asked = prompt("plan_answer", goal=spec.objective, results=results_in_words(work.done.values()), failed=failed)
    return actor_messages(asked, earlier)
