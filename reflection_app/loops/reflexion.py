"""Reflexion: one model in one growing context, which judges its own attempts and reflects on those that fall short.

After the mode "Reflexion" of the design seeds; Shinn et al., 2023, arXiv:2303.11366.
"""

from reflection_app.loops.answers import ask
from reflection_app.loops.attempts import end_by, make_attempt, settle, within
from reflection_app.loops.framing import sees_all_of
from reflection_app.loops.progress import Progress
from reflection_app.loops.prompts import prompt
from reflection_app.loops.self_evaluation import (
    EVALUATION_SCHEMA,
    EVALUATION_TEMPERATURE,
    REFLECTION_SCHEMA,
    REFLECTION_TEMPERATURE,
    Reflection,
    SelfEvaluation,
    evaluation_question,
    issues_of,
    judge_itself,
    reflection_question,
)
from reflection_app.loops.task_spec import TaskSpec
from reflection_app.loops.values import NO_ANSWER, Message, assistant, system, user
from reflection_app.loops.verdicts import Judgement, Outcome, Referee


async def reflexion(spec: TaskSpec, run: Progress) -> Outcome:
    """Attempts until the model is satisfied, a person decides, or a limit is reached."""
    task = (system(prompt("write_system")), user(spec.objective))
    turns: list[Message] = []
    last = spec.limits.max_iterations
    for number in range(1, last + 1):
        messages = within(run.tokens_left, task=task, turns=turns)
        content = await make_attempt(spec, run, number=number, messages=messages)
        if number in run.unfinished:
            turns += [assistant(content), user(prompt("cut_off_next"))]
            continue
        run.check_limits()
        judgement = await evaluate(spec, run, attempt=number, content=content)
        judgement = await settle(spec, run, judgement)
        if (end := end_by(judgement, run)) is not None:
            return end
        if number < last:
            run.check_limits()
            reflection = await reflect(spec, run, attempt=number, content=content, judgement=judgement)
            turns += [
                assistant(content or NO_ANSWER),
                user(reflection_in_words(reflection, number=number, judgement=judgement)),
            ]
    return Outcome.EXHAUSTED


async def evaluate(spec: TaskSpec, run: Progress, *, attempt: int, content: str) -> Judgement:
    """The model's verdict on its own attempt, recorded."""
    answer = await ask(
        run,
        run.model_call(
            key=f"attempt-{attempt}/self-evaluation",
            role="self",
            messages=evaluation_question(objective=spec.objective, content=content),
            temperature=EVALUATION_TEMPERATURE,
            json_schema=EVALUATION_SCHEMA,
        ),
        schema=SelfEvaluation,
    )
    judgement = judge_itself(answer, attempt=attempt, saw_all=sees_all_of(content))
    return await run.record(judgement, key=f"attempt-{attempt}/verdict")


async def reflect(spec: TaskSpec, run: Progress, *, attempt: int, content: str, judgement: Judgement) -> Reflection:
    """The model's reflection on an attempt that was sent back, by itself or by a person."""
    return await ask(
        run,
        run.model_call(
            key=f"attempt-{attempt}/reflection",
            role="reflector",
            messages=reflection_question(objective=spec.objective, content=content, judgement=judgement),
            temperature=REFLECTION_TEMPERATURE,
            json_schema=REFLECTION_SCHEMA,
        ),
        schema=Reflection,
    )


def reflection_in_words(reflection: Reflection, *, number: int, judgement: Judgement) -> str:
    """What the next attempt is told: the reflection, and a person's own words where a person sent the attempt back."""
    headings = {
        "What went wrong": reflection.issues,
        "Why it happened": reflection.root_causes,
        "How to improve": reflection.suggestions,
    }
    parts = [f"{heading}:\n" + "\n".join(f"- {text}" for text in texts) for heading, texts in headings.items() if texts]
    if judgement.referee is Referee.PERSON:
        parts.insert(0, f"A person sent it back:\n{issues_of(judgement)}")
    elif not parts:
        parts.append(f"What went wrong:\n{issues_of(judgement)}")
    return prompt("reflexion_next", number=number, reflection="\n\n".join(parts))
