"""Reflexion: one model in a growing context evaluates its attempts and reflects on insufficient ones.

Source: the mode "Reflexion" of the design seeds; Shinn et al., 2023, arXiv:2303.11366. A model's self-evaluation is the
weakest of all referees.
"""

from typing import Annotated

from pydantic import BeforeValidator, Field

from reflection_app.loops.answer_reading import Clipped, Flag, Lenient, Share, Texts, as_described
from reflection_app.loops.answer_schemas import SHARE, YES_OR_NO, closed_object, texts
from reflection_app.loops.answers import ask
from reflection_app.loops.attempts import end_by, make_attempt, settle, within
from reflection_app.loops.framing import frame_of, framed_task, sees_all_of, truncated
from reflection_app.loops.progress import Progress
from reflection_app.loops.prompts import prompt
from reflection_app.loops.task_spec import TaskSpec
from reflection_app.loops.values import NO_ANSWER, Message, assistant, system, user
from reflection_app.loops.verdicts import Issue, Judgement, Outcome, Referee, Verdict

EVALUATION_TEMPERATURE = 0.3
REFLECTION_TEMPERATURE = 0.5
# Value for the score if the model states no confidence.
UNSAID_CONFIDENCE = 0.5


class SelfIssue(Lenient):
    """An issue of a self-evaluation. Many models answer with an object instead of a sentence."""

    description: Clipped = Field(min_length=1)


class SelfEvaluation(Lenient):
    """A model's evaluation of an attempt that it made."""

    is_satisfactory: Flag
    issues: Annotated[tuple[SelfIssue, ...], BeforeValidator(as_described)] = ()
    confidence: Share | None = None

    @property
    def score(self) -> float:
        """Score from 0 to 100: from 50 up if satisfied, from 50 down if not, by confidence."""
        confidence = UNSAID_CONFIDENCE if self.confidence is None else self.confidence
        return 50 + 50 * confidence if self.is_satisfactory else 50 - 50 * confidence


class Reflection(Lenient):
    """Why an attempt was insufficient, and how to improve it."""

    issues: Texts = ()
    root_causes: Texts = ()
    suggestions: Texts = ()


EVALUATION_SCHEMA = closed_object(is_satisfactory=YES_OR_NO, issues=texts(8), confidence=SHARE)
REFLECTION_SCHEMA = closed_object(issues=texts(5), root_causes=texts(5), suggestions=texts(5))


def evaluation_question(*, objective: str, content: str) -> tuple[Message, ...]:
    """Return the messages for the self-evaluation. The attempt cannot close its frame."""
    asked = prompt(
        "self_evaluate", objective=framed_task(objective), content=truncated(content), frame=frame_of(content)
    )
    return (system(prompt("self_system")), user(asked))


def issues_of(judgement: Judgement) -> str:
    """Return the judgement's issues and suggestions as a list."""
    lines = [
        issue.in_words + (f" ({issue.suggested_fix})" if issue.suggested_fix else "") for issue in judgement.issues
    ]
    lines += judgement.feedback.suggestions
    return "\n".join(f"- {text}" for text in lines) or "- None was named."


def judge_itself(answer: SelfEvaluation, *, attempt: int, saw_all: bool = True) -> Judgement:
    """Return PASS if the model is satisfied, else REVISE: self-evaluation is too weak to reject on.

    If the model saw only part of its attempt, confidence is 0, and the review policy requests a review.
    """
    return Judgement(
        attempt=attempt,
        referee=Referee.SELF,
        verdict=Verdict.PASS if answer.is_satisfactory else Verdict.REVISE,
        score=answer.score,
        confidence=answer.confidence if saw_all else 0.0,
        issues=tuple(Issue(description=issue.description) for issue in answer.issues),
    )


async def reflexion(spec: TaskSpec, run: Progress) -> Outcome:
    """Make attempts until the model is satisfied, a reviewer decides, or a limit is reached."""
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
    """Record and return the model's judgement of the attempt it made."""
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
    """Return the model's reflection on an attempt that it or a reviewer sent back."""
    asked = prompt(
        "reflect",
        objective=framed_task(spec.objective),
        content=truncated(content),
        frame=frame_of(content),
        issues=issues_of(judgement),
    )
    return await ask(
        run,
        run.model_call(
            key=f"attempt-{attempt}/reflection",
            role="reflector",
            messages=(system(prompt("self_system")), user(asked)),
            temperature=REFLECTION_TEMPERATURE,
            json_schema=REFLECTION_SCHEMA,
        ),
        schema=Reflection,
    )


def reflection_in_words(reflection: Reflection, *, number: int, judgement: Judgement) -> str:
    """Return the prompt for the next attempt: the reflection, and a reviewer's feedback if there is one."""
    headings = {
        "What went wrong": reflection.issues,
        "Why it happened": reflection.root_causes,
        "How to improve": reflection.suggestions,
    }
    parts = [f"{name}:\n" + "\n".join(f"- {text}" for text in items) for name, items in headings.items() if items]
    if judgement.referee is Referee.PERSON:
        parts.insert(0, f"A person sent it back:\n{issues_of(judgement)}")
    elif not parts:
        parts.append(f"What went wrong:\n{issues_of(judgement)}")
    return prompt("reflexion_next", number=number, reflection="\n\n".join(parts))
