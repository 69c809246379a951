"""The memory reflector: rules, facts and preferences in work that has ended which later work should know."""

from reflection_app.loops.after.findings import MemoryType
from reflection_app.loops.after.looking_back import (
    MemoriesAnswer,
    Question,
    look_back,
    session_of,
    shown_known,
    shown_session,
)
from reflection_app.loops.answer_schemas import TEXT, list_of, one_of, open_object
from reflection_app.loops.effects import RecordMemories
from reflection_app.loops.progress import Progress
from reflection_app.loops.prompts import prompt
from reflection_app.loops.task_spec import TaskSpec
from reflection_app.loops.values import system, user
from reflection_app.loops.verdicts import Outcome

ROLE = "memory_reflector"
KEY = "memories"
MOST_TURNS = 5

SCHEMA = open_object(
    memories=list_of(open_object(type=one_of(MemoryType), name=TEXT, description=TEXT, content=TEXT), most=10)
)


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
