"""The two reflectors: what went wrong in work that has ended, and what of it later work should know."""

from reflection_app.loops.after.findings import MemoryType
from reflection_app.loops.after.looking_back import (
    ErrorsAnswer,
    MemoriesAnswer,
    Question,
    look_back,
    session_of,
    shown_known,
    shown_session,
)
from reflection_app.loops.answer_schemas import TEXT, list_of, one_of, open_object
from reflection_app.loops.effects import RecordFindings, RecordMemories
from reflection_app.loops.progress import Progress
from reflection_app.loops.prompts import prompt
from reflection_app.loops.session_reflections import Finding
from reflection_app.loops.task_spec import TaskSpec
from reflection_app.loops.values import system, user
from reflection_app.loops.verdicts import Outcome

# Of each its model's role, how the keys of its model calls begin, and the most turns that it takes.
ERRORS_ROLE, ERRORS_KEY, ERRORS_TURNS = "error_reflector", "errors", 4
MEMORIES_ROLE, MEMORIES_KEY, MEMORIES_TURNS = "memory_reflector", "memories", 5

ERRORS_SCHEMA = open_object(
    score={"type": "number", "minimum": 0, "maximum": 100},
    findings=list_of(open_object(category=one_of(Finding), description=TEXT, cause=TEXT, suggestion=TEXT), most=10),
)
MEMORIES_SCHEMA = open_object(
    memories=list_of(open_object(type=one_of(MemoryType), name=TEXT, description=TEXT, content=TEXT), most=10)
)


async def error_reflection(spec: TaskSpec, run: Progress) -> Outcome:
    """Succeeded once the findings are kept, whatever and however many they are."""
    session = await session_of(run)
    question = Question(
        role=ERRORS_ROLE,
        key=ERRORS_KEY,
        messages=(
            system(prompt("after_errors_system")),
            user(prompt("after_errors", session=shown_session(session))),
        ),
        answer=ErrorsAnswer,
        schema=ERRORS_SCHEMA,
        most_turns=min(ERRORS_TURNS, spec.limits.max_iterations),
    )
    answer = await look_back(run, question)
    await run.perform(RecordFindings(key="findings", found=answer.found()))
    return Outcome.SUCCEEDED


async def memory_reflection(spec: TaskSpec, run: Progress) -> Outcome:
    """Succeeded once the memories are kept, whatever and however many they are."""
    session = await session_of(run, with_known=True)
    question = Question(
        role=MEMORIES_ROLE,
        key=MEMORIES_KEY,
        messages=(
            system(prompt("after_memories_system")),
            user(prompt("after_memories", session=shown_session(session), known=shown_known(session))),
        ),
        answer=MemoriesAnswer,
        schema=MEMORIES_SCHEMA,
        most_turns=min(MEMORIES_TURNS, spec.limits.max_iterations),
    )
    answer = await look_back(run, question)
    await run.perform(RecordMemories(key="memories", found=answer.found()))
    return Outcome.SUCCEEDED
