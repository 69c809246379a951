"""Kept reports for tests, with the run, the ticket and the attempts that they are about."""

from typing import Any

from django.utils import timezone

from reflection_app.core.audit import Actor
from reflection_app.core.models import Project
from reflection_app.loops.effects import RecordReport
from reflection_app.loops.protocol.reports import KeptReport
from reflection_app.repairs.models import Report, Ticket
from reflection_app.repairs.rows import write_report
from reflection_app.runs.batch import Batch
from reflection_app.runs.following import StepCommit
from reflection_app.runs.models import Attempt, Run, Step, StepState
from reflection_app.runs.performing import named
from tests import given
from tests.loops.reporting import AGENT, seed_report
from tests.runs.forking import TWICE, advanced


def revised_run(project: Project | None = None, **submission: Any) -> Run:
    """A run whose first attempt was sent back with a ticket, and whose second passed."""
    project = project or given.project(review_policy={"audit_share": 0})
    submission = {"mode": "actor_critic", "agent": AGENT} | submission
    return advanced(given.scripted_run(TWICE, project=project, **submission))


def begun_run(project: Project, *, agent: str = AGENT, actor: Actor | None = None) -> Run:
    """A run with one attempt and nothing else, which is quick to make."""
    run = given.submitted_run(project, agent=agent, actor=actor)
    Attempt.objects.create(run=run, number=1, step=_step(run, "attempt-1/answer"), content="three papers")
    return run


def kept_report(run: Run, **fields: Any) -> Report:
    """The report of the seed on the run's first attempt, kept as the runner keeps it."""
    ticket = Ticket.objects.filter(run=run).first()
    values = {"reflection_id": "", "agent": run.task.agent, "ticket_id": ticket.ticket_id if ticket else ""}
    report = seed_report(**values | fields)
    name, now = named("ref")
    kept = KeptReport(reflection_id=name, timestamp=now)
    step = _step(run, f"attempt-{report.attempt}/report", kind=RecordReport.kind, result=kept.model_dump(mode="json"))
    write_report(RecordReport(key=step.key, report=report), kept, StepCommit(run, step, Batch(), {}, []))
    run.save(update_fields=["last_event_seq"])
    return Report.objects.get(run=run, reflection_id=name)


def _step(run: Run, key: str, *, kind: str = "generate", result: Any = None) -> Step:
    return Step.objects.create(
        run=run,
        seq=Step.objects.filter(run=run).count() + 1,
        key=key,
        kind=kind,
        state=StepState.DONE,
        request={},
        result=result,
        started_at=timezone.now(),
        finished_at=timezone.now(),
    )
