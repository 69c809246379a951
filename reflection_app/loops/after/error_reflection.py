"""The error reflector: what went wrong in work that has ended, and how good it was."""

from reflection_app.loops.after.looking_back import ErrorsAnswer, Question, look_back, session_of, shown_session
from reflection_app.loops.answer_schemas import TEXT, list_of, one_of, open_object
from reflection_app.loops.effects import RecordFindings
from reflection_app.loops.progress import Progress
from reflection_app.loops.prompts import prompt
from reflection_app.loops.session_reflections import Finding
from reflection_app.loops.task_spec import TaskSpec
from reflection_app.loops.values import system, user
from reflection_app.loops.verdicts import Outcome

ROLE = "error_reflector"
KEY = "errors"
MOST_TURNS = 4

SCHEMA = open_object(
    score={"type": "number", "minimum": 0, "maximum": 100},
    findings=list_of(open_object(category=one_of(Finding), description=TEXT, cause=TEXT, suggestion=TEXT), most=10),
)


async def error_reflection(spec: TaskSpec, run: Progress) -> Outcome:
    """Succeeded once the findings are kept, whatever and however many they are."""
    session = await session_of(run)
    question = Question(
        role=ROLE,
        key=KEY,
        messages=(
            system(prompt("after_errors_system")),
            user(prompt("after_errors", session=shown_session(session))),
        ),
        answer=ErrorsAnswer,
        schema=SCHEMA,
        most_turns=min(MOST_TURNS, spec.limits.max_iterations),
    )
    answer = await look_back(run, question)
    await run.perform(RecordFindings(key="findings", found=answer.found()))
    return Outcome.SUCCEEDED
