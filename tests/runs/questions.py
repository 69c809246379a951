"""Runs that wait for a person's answer, let go just as the runner does it."""

from reflection_app.core.models import Project
from reflection_app.loops.attempt_effects import AskPerson
from reflection_app.loops.questions import Choice, QuestionKind
from reflection_app.loops.questions import Question as Asked
from reflection_app.runs.following import consequences
from reflection_app.runs.journal import Journal
from reflection_app.runs.lease import claim
from reflection_app.runs.models import Question
from reflection_app.runs.performing import wait_for
from tests import given

KNOWLEDGE = Asked(
    kind=QuestionKind.KNOWLEDGE,
    text="现在的关税是多少? What is the tariff?",
    context=("Objective: price the order", "Searched: nothing found"),
    choices=(Choice.ANSWER, Choice.SKIP),
)
PERMISSION = Asked(
    kind=QuestionKind.PERMISSION,
    text="The tool pay_invoice was refused: 403 Forbidden.",
    choices=(Choice.TRY_AGAIN, Choice.SKIP, Choice.GIVE_UP),
)


def waiting_question(project: Project, asked: Asked = KNOWLEDGE) -> Question:
    """An open question that a run of the project waits for."""
    run = given.submitted_run(project)
    lease = claim(run.pk)
    assert lease is not None
    journal = Journal(lease)
    effect = AskPerson(key="ask", question=asked)
    assert journal.recall(effect) is None
    wait_for(effect, journal=journal, follow=consequences(effect, attempts={}, judgements=[]))
    return Question.objects.select_related("step", "run").get(run=run)
