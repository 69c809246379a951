"""A project with one thing of each kind, all about kettles."""

from dataclasses import dataclass

from notebook_app.models import Entry
from reflection_app.core.models import Project
from reflection_app.repairs.models import Report, Ticket, ToolFailure
from reflection_app.reviews.models import Review
from reflection_app.runs.models import Run
from reflection_app.search.results import Group, Hit, Kind, search
from reflection_app.sessions.models import Transcript
from tests import given
from tests.notebook.entries import make_entry
from tests.repairs.reports import begun_run, kept_report
from tests.repairs.tool_failures import report
from tests.reviews.waiting_rows import waiting_rows


@dataclass(frozen=True)
class Things:
    project: Project
    run: Run
    review: Review
    entry: Entry
    report: Report
    ticket: Ticket
    session: Transcript
    failure: ToolFailure


def make_things(slug: str | None = None) -> Things:
    project = given.project(slug)
    run = given.submitted_run(project, objective="Describe the kettle", external_id="EXT-7", agent="porter")
    (review,) = waiting_rows(project, 1)
    review.run.task.objective = "Judge the kettle"
    review.run.task.save(update_fields=["objective"])
    told = kept_report(begun_run(project), surface_issue="The kettle is missing")
    ticket = Ticket.objects.create(
        project=project,
        run=told.run,
        step=told.step,
        ticket_id="rewind_20261124_101112_ab12",
        trigger="critic_evaluation",
        verdict="REVISE",
        quality_score=40,
        issues=[{"category": "quality", "severity": "high", "description": "The kettle leaks"}],
        created_at=told.created_at,
    )
    return Things(
        project=project,
        run=run,
        review=review,
        entry=make_entry(project, name="Boil the kettle first", state="approved"),
        report=told,
        ticket=ticket,
        session=Transcript.objects.create(project=project, agent="porter", objective="A talk about kettles"),
        failure=report(project, tool="boil_water", error_message="The kettle timed out", external_id="call-9"),
    )


def groups(project: Project, typed: str) -> dict[Kind, Group]:
    """What a search that may read everything finds, by kind."""
    return {group.kind: group for group in search(project, typed, may=lambda _: True)}


def hits(project: Project, typed: str, kind: Kind = Kind.RUNS) -> list[Hit]:
    found = groups(project, typed)
    return list(found[kind].hits) if kind in found else []
