"""What a task is about, asked of a model where nobody said it."""

from typing import Annotated, Any

from pydantic import BeforeValidator

from reflection_app.loops.attempt_effects import Generate
from reflection_app.loops.effect import EffectFailed, EffectTimedOut
from reflection_app.loops.framing import frame_of
from reflection_app.loops.lenient_values import Clipped, Lenient, Share
from reflection_app.loops.messages import Message, user
from reflection_app.loops.progress import PriceUnknown, Progress
from reflection_app.loops.prompts import prompt
from reflection_app.loops.structured_answers import ask
from reflection_app.loops.task_spec import TaskKind, TaskSpec

TEMPERATURE = 0.0
# What a task is about shows in its beginning; long tasks are long because of what they bring along.
LONGEST_SHOWN = 6_000


def _kind(value: Any) -> TaskKind:
    """Classifiers invent kinds, and write them as they like; an unknown one is `other`."""
    name = "_".join(str(value).lower().replace("-", " ").replace("_", " ").split())
    return TaskKind(name) if name in TaskKind else TaskKind.OTHER


class Classification(Lenient):
    task_kind: Annotated[TaskKind, BeforeValidator(_kind)]
    confidence: Share | None = None
    why: Clipped = ""


ANSWER_SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["task_kind", "confidence", "why"],
    "properties": {
        "task_kind": {"type": "string", "enum": [kind.value for kind in TaskKind]},
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
        "why": {"type": "string"},
    },
}


async def classify(spec: TaskSpec, run: Progress) -> Classification:
    """What the task is about. `other` where no usable answer comes: a task never fails for want of a class."""
    run.check_limits()
    request = Generate(
        key="classify",
        role="classifier",
        messages=question(spec.objective),
        temperature=TEMPERATURE,
        max_tokens=run.tokens_left,
        timeout_s=run.time_left_s(),
        json_schema=ANSWER_SCHEMA,
    )
    try:
        return await ask(run, request, schema=Classification)
    except (EffectTimedOut, PriceUnknown):
        raise
    except EffectFailed as failure:
        return Classification(task_kind=TaskKind.OTHER, why=f"The task could not be classified. {failure}")


def question(objective: str) -> tuple[Message, ...]:
    """What the classifier is asked. The task cannot close its frame."""
    shown = objective if len(objective) <= LONGEST_SHOWN else f"{objective[:LONGEST_SHOWN]}\n[The rest is not shown.]"
    return (user(prompt("classify", objective=shown, frame=frame_of(objective))),)
