"""A question that a run put to a person, and the form that answers it."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.http import require_safe
from pydantic import ValidationError

from reflection_app.core.errors import ActionError, Conflict, InvalidInput
from reflection_app.core.permissions import Permission
from reflection_app.loops.questions import Choice
from reflection_app.runs.answer_question import AnswerInput, answer_question
from reflection_app.runs.models.question import Question, QuestionState
from reflection_app.web.access import DeskRequest, Place, project_page
from reflection_app.web.action_addresses import post_only
from reflection_app.web.complaints import complaints

# What each choice does, on its button.
BUTTONS = {
    Choice.ANSWER: gettext_noop("Send the answer"),
    Choice.TRY_AGAIN: gettext_noop("It is allowed now: try again"),
    Choice.SKIP: gettext_noop("Go on without it"),
    Choice.GIVE_UP: gettext_noop("Give up here"),
}


def get_question_for(place: Place, question_id: UUID) -> Question:
    """The project's question with its run. Raises Http404."""
    related = ("step", "run__task", "answered_by")
    question = Question.objects.select_related(*related).filter(project=place.project, pk=question_id).first()
    if question is None:
        raise Http404("no such question")
    return question


@project_page(Permission.READ_QUEUE)
@require_safe
def question_page(request: DeskRequest, question_id: UUID) -> HttpResponse:
    return _show(request, get_question_for(request.place, question_id))


@project_page(Permission.REVIEW)
@post_only(page="question")
def answer(request: DeskRequest, question_id: UUID) -> HttpResponse:
    """Answers, and shows the run go on; where that is refused, the page comes back with all that was typed."""
    question = get_question_for(request.place, question_id)
    typed = {"choice": request.POST.get("choice", ""), "text": request.POST.get("text", "").replace("\r\n", "\n")}
    try:
        answer_question(question, AnswerInput.model_validate(typed), actor=request.place.actor)
    except ValidationError as error:
        problem = InvalidInput(_("Nothing was sent."), errors=complaints(error))
        return _show(request, question, typed=typed, problem=problem, status=400)
    except InvalidInput as problem:
        return _show(request, question, typed=typed, problem=problem, status=400)
    except Conflict as problem:
        return _show(request, question, typed=typed, problem=problem, status=409)
    messages.success(request, _("Your answer was sent. The run goes on with it."))
    return redirect("run", slug=request.place.project.slug, run_id=question.run_id)


def _show(
    request: DeskRequest,
    question: Question,
    *,
    typed: dict[str, str] | None = None,
    problem: ActionError | None = None,
    status: int = 200,
) -> HttpResponse:
    offered = [Choice(choice) for choice in question.choices]
    context: dict[str, Any] = {
        "question": question,
        "run": question.run,
        "is_open": question.state == QuestionState.OPEN,
        "takes_words": Choice.ANSWER in offered,
        "buttons": [(choice.value, _(BUTTONS[choice])) for choice in offered],
        "text": (typed or {}).get("text", ""),
        "problem": problem,
        "errors": problem.errors if isinstance(problem, InvalidInput) else [],
    }
    return render(request, "questions/page.html", context, status=status)
