"""The memory reflector: rules, facts and preferences in work that has ended which later work should know."""

from typing import Any

from reflection_app.loops.after.findings import MemoryType
from reflection_app.loops.after.looking_back import (
    MemoriesAnswer,
    Question,
    look_back,
    session_of,
    shown_known,
    shown_session,
)
from reflection_app.loops.effects import RecordMemories
from reflection_app.loops.progress import Progress
from reflection_app.loops.prompts import prompt
from reflection_app.loops.task_spec import TaskSpec
from reflection_app.loops.values import system, user
from reflection_app.loops.verdicts import Outcome

ROLE = "memory_reflector"
KEY = "memories"
MOST_TURNS = 5

# Written out for providers that constrain the answer; stricter than what is accepted, on purpose.
SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["memories"],
    "properties": {
        "memories": {
            "type": "array",
            "maxItems": 10,
            "items": {
                "type": "object",
                "required": ["type", "name", "description", "content"],
                "properties": {
                    "type": {"type": "string", "enum": [kind.value for kind in MemoryType]},
                    "name": {"type": "string"},
                    "description": {"type": "string"},
                    "content": {"type": "string"},
                },
            },
        },
    },
}


async def memory_reflection(spec: TaskSpec, run: Progress) -> Outcome:
    """Succeeded once the memories are kept, whatever and however many they are."""
    session = await session_of(run, with_known=True)
    question = Question(
        role=ROLE,
        key=KEY,
        messages=(
            system(prompt("after_memories_system")),
            user(prompt("after_memories", session=shown_session(session), known=shown_known(session))),
        ),
        answer=MemoriesAnswer,
        schema=SCHEMA,
        most_turns=min(MOST_TURNS, spec.limits.max_iterations),
    )
    answer = await look_back(run, question)
    await run.perform(RecordMemories(key="memories", found=answer.found()))
    return Outcome.SUCCEEDED
