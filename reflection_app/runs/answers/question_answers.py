"""Questions to people as REST tells them."""

from uuid import UUID

from pydantic import AwareDatetime, Field

from reflection_app.api.answer import Answer, PageAnswer
from reflection_app.loops.questions import Choice, QuestionKind
from reflection_app.runs.models.question import Question, QuestionState


class QuestionAnswer(Answer):
    """Something that a run asks a person, and what was said. The run waits while it is open."""

    id: UUID
    run_id: UUID
    kind: QuestionKind
    text: str
    context: list[str] = Field(description="lines that help to answer")
    choices: list[Choice] = Field(description="what can be said to it")
    state: QuestionState
    choice: Choice | None
    answer: str = Field(description="the person's words")
    answered_by: str | None
    answered_at: AwareDatetime | None
    created_at: AwareDatetime


class QuestionPage(PageAnswer):
    results: list[QuestionAnswer]


def question_answer(question: Question) -> QuestionAnswer:
    return QuestionAnswer(
        id=question.pk,
        run_id=question.run_id,
        kind=QuestionKind(question.kind),
        text=question.text,
        context=question.context,
        choices=[Choice(choice) for choice in question.choices],
        state=QuestionState(question.state),
        choice=Choice(question.choice) if question.choice else None,
        answer=question.answer,
        answered_by=question.answered_by_label or None,
        answered_at=question.answered_at,
        created_at=question.created_at,
    )
