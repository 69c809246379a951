"""Rows by their id, for a key: another project's row is as good as none."""

from uuid import UUID

from reflection_app.core.errors import NotFound
from reflection_app.core.models import Project
from reflection_app.repairs.answers.reports import reports_to_show, tickets_to_show
from reflection_app.repairs.models import AgentInstruction, Report, Ticket
from reflection_app.reviews.answers import reviews_to_show
from reflection_app.reviews.models import Review
from reflection_app.runs.answers import runs_to_show
from reflection_app.runs.models import Run
from reflection_app.sessions.models import Transcript
from reflection_app.tasks.models import Task


def get_task_for(project: Project, task_id: UUID) -> Task:
    """The task. Raises NotFound."""
    task = Task.objects.filter(project=project, pk=task_id).first()
    if task is None:
        raise NotFound("There is no such task.")
    return task


def get_run_for(project: Project, run_id: UUID) -> Run:
    """The run. Raises NotFound."""
    run = runs_to_show(Run.objects.filter(project=project, pk=run_id)).first()
    if run is None:
        raise NotFound("There is no such run.")
    return run


def get_transcript_for(project: Project, transcript_id: UUID) -> Transcript:
    """The session. Raises NotFound."""
    transcript = Transcript.objects.filter(project=project, pk=transcript_id).first()
    if transcript is None:
        raise NotFound("There is no such session.")
    return transcript


def get_review_for(project: Project, review_id: UUID) -> Review:
    """The review. Raises NotFound."""
    review = reviews_to_show(Review.objects.filter(project=project, pk=review_id)).first()
    if review is None:
        raise NotFound("There is no such review.")
    return review


def get_ticket_for(project: Project, ticket_id: str) -> Ticket:
    """The rewind ticket. Raises NotFound."""
    ticket = tickets_to_show(Ticket.objects.filter(project=project, ticket_id=ticket_id)).first()
    if ticket is None:
        raise NotFound("There is no such ticket.")
    return ticket


def get_report_for(project: Project, reflection_id: str) -> Report:
    """The reflection report. Raises NotFound."""
    rows = reports_to_show(Report.objects.filter(project=project, reflection_id=reflection_id))
    report = rows.prefetch_related("corrections").first()
    if report is None:
        raise NotFound("There is no such report.")
    return report


def get_instruction_for(project: Project, instruction_id: UUID) -> AgentInstruction:
    """The instruction. Raises NotFound."""
    rows = AgentInstruction.objects.filter(project=project, pk=instruction_id).select_related("report")
    instruction = rows.first()
    if instruction is None:
        raise NotFound("There is no such instruction.")
    return instruction
