"""Actor and critic: one model works, another judges, and a person is asked where the judgement should not stand alone.

Each new prompt is built from the original task and the feedback on earlier attempts, never from the last prompt, so
that it does not nest inside itself.
"""

from dataclasses import dataclass

from reflection_app.loops import critic
from reflection_app.loops.attempt_effects import Generate
from reflection_app.loops.attempts import make_attempt, unfinished
from reflection_app.loops.critic import CriticAnswer
from reflection_app.loops.ends import Outcome
from reflection_app.loops.framing import sees_all_of
from reflection_app.loops.messages import Message, system, user
from reflection_app.loops.progress import Progress
from reflection_app.loops.prompts import prompt
from reflection_app.loops.requirement_checks import check_requirements
from reflection_app.loops.settling import end_by, settle
from reflection_app.loops.structured_answers import ask
from reflection_app.loops.task_spec import TaskSpec
from reflection_app.loops.verdicts import Judgement

LONGEST_EARLIER = 8_000


@dataclass(frozen=True)
class Earlier:
    """An attempt that was sent back, and the judgement that did it."""

    content: str
    judgement: Judgement


async def actor_critic(spec: TaskSpec, run: Progress) -> Outcome:
    """Attempts until one is accepted, rejected, or a limit is reached."""
    earlier: list[Earlier] = []
    for number in range(1, spec.limits.max_iterations + 1):
        content = await make_attempt(spec, run, number=number, messages=actor_messages(spec.objective, earlier))
        if number in run.unfinished:
            earlier.append(Earlier(content, unfinished(number)))
            continue
        run.check_limits()
        judgement = await evaluate(spec, run, attempt=number, content=content)
        judgement = await settle(spec, run, judgement)
        if (end := end_by(judgement, run)) is not None:
            return end
        earlier.append(Earlier(content, judgement))
    return Outcome.EXHAUSTED


async def evaluate(spec: TaskSpec, run: Progress, *, attempt: int, content: str) -> Judgement:
    """The critic's verdict on an attempt, recorded. Where there are minimum requirements, code checks them first."""
    requirements = None
    if spec.requirements is not None:
        requirements = check_requirements(spec.requirements, content, chain_of_thought=spec.chain_of_thought)
    answer = await ask(
        run,
        Generate(
            key=f"attempt-{attempt}/critique",
            role="critic",
            messages=critic.question(objective=spec.objective, content=content, requirements=requirements),
            temperature=critic.TEMPERATURE,
            max_tokens=run.tokens_left,
            timeout_s=run.time_left_s(),
            json_schema=critic.ANSWER_SCHEMA,
        ),
        schema=CriticAnswer,
    )
    saw_all = sees_all_of(content)
    judgement = critic.judge(
        answer, attempt=attempt, thresholds=spec.thresholds, saw_all=saw_all, requirements=requirements
    )
    return await run.record(judgement, key=f"attempt-{attempt}/verdict")


def actor_messages(objective: str, earlier: list[Earlier]) -> tuple[Message, ...]:
    """The actor's prompt: the task as it was given and, after the first attempt, all feedback so far."""
    if not earlier:
        return (system(prompt("write_system")), user(objective))
    told = "\n\n".join(_told(number, one) for number, one in enumerate(earlier, start=1))
    return (system(prompt("write_system")), user(prompt("write_again", objective=objective, earlier=told)))


def _told(number: int, earlier: Earlier) -> str:
    judgement = earlier.judgement
    problems = [
        f"- {issue.description}" + (f" ({issue.suggested_fix})" if issue.suggested_fix else "")
        for issue in judgement.issues
    ]
    problems += [f"- {weakness}" for weakness in judgement.feedback.weaknesses]
    problems += [f"- To do: {suggestion}" for suggestion in judgement.feedback.suggestions]
    return prompt(
        "write_earlier",
        number=number,
        score=f"{judgement.score:g}",
        content=earlier.content[:LONGEST_EARLIER],
        problems="\n".join(problems) or "- It was not approved, and no reason was given.",
    )
