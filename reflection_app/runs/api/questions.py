"""Questions that runs put to people: read, and answered."""

from uuid import UUID

from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from reflection_app.api.desk_view import DeskView, NoParameters
from reflection_app.api.idempotency import idempotent
from reflection_app.api.pages import NEWEST_FIRST, PageQuery, get_page
from reflection_app.api.permissions import needs
from reflection_app.api.reading import read_input, read_query
from reflection_app.api.schema import described_get, described_post
from reflection_app.core.errors import NotFound
from reflection_app.core.models import Project
from reflection_app.core.permissions import Permission
from reflection_app.loops.questions import QuestionKind
from reflection_app.runs.answer_question import AnswerInput, answer_question
from reflection_app.runs.answers.question_answers import QuestionAnswer, QuestionPage, question_answer
from reflection_app.runs.models.question import Question, QuestionState

ANSWERS = {
    "In words": {"choice": "answer", "text": "The tariff is 4.2 % since March; see the notice on the intranet."},
    "The permission was given": {"choice": "try_again"},
    "Go on without": {"choice": "skip"},
}


class QuestionFilters(PageQuery):
    state: QuestionState | None = None
    kind: QuestionKind | None = None
    run: UUID | None = Field(default=None, description="the id of a run")


class QuestionList(DeskView):
    permissions = needs(get=Permission.READ_QUEUE)

    @described_get("list_questions", summary="Questions, newest first", query=QuestionFilters, answer=QuestionPage)
    def get(self, request: Request) -> Response:
        query = read_query(request, QuestionFilters)
        wanted = query.model_dump(exclude_none=True, include={"state", "kind", "run"})
        questions = Question.objects.filter(project=self.project, **wanted)
        page = get_page(questions, request=request, query=query, order=NEWEST_FIRST)
        return Response(page.with_results([question_answer(row) for row in page.rows]))


class QuestionDetail(DeskView):
    permissions = needs(get=Permission.READ_QUEUE)

    @described_get("get_question", summary="One question", answer=QuestionAnswer, problems=(404,))
    def get(self, request: Request, question_id: UUID) -> Response:
        read_query(request, NoParameters)
        return Response(question_answer(get_question_for(self.project, question_id)).model_dump(mode="json"))


class AnswerQuestion(DeskView):
    permissions = needs(post=Permission.REVIEW)

    @described_post(
        "answer_question",
        summary="Answer a question; its run goes on",
        body=AnswerInput,
        answers={200: QuestionAnswer},
        problems=(404, 409),
        examples=ANSWERS,
    )
    @idempotent
    def post(self, request: Request, question_id: UUID) -> Response:
        question = get_question_for(self.project, question_id)
        answered = answer_question(question, read_input(request, AnswerInput, what="answer"), actor=self.actor)
        return Response(question_answer(answered).model_dump(mode="json"))


def get_question_for(project: Project, question_id: UUID) -> Question:
    """The question. Raises NotFound."""
    question = Question.objects.select_related("step").filter(project=project, pk=question_id).first()
    if question is None:
        raise NotFound("There is no such question.")
    return question
