"""Runs brought to a certain point by really running their loops."""

from reflection_app.core.models import Project
from reflection_app.reviews.models import Review
from reflection_app.runs.advance import advance
from reflection_app.runs.models import Run
from tests.runs.critiques import critique
from tests.runs.scripts import scripted_run


def finished_run(project: Project) -> Run:
    """A text that the critic sent back once and then passed."""
    run = scripted_run(
        {
            "attempt-1/answer": "first",
            "attempt-1/critique": critique(40),
            "attempt-2/answer": "second",
            "attempt-2/critique": critique(90, approved=True),
        },
        project=_without_audits(project),
    )
    advance(run.pk)
    run.refresh_from_db()
    assert run.outcome == "succeeded", run.error
    return run


def waiting_review(project: Project) -> Review:
    """A review that its run waits for: the critic rejected the first attempt."""
    run = scripted_run(
        {
            "attempt-1/answer": "first",
            "attempt-1/critique": critique(10),
            "attempt-2/answer": "second",
            "attempt-2/critique": critique(90, approved=True),
        },
        project=_without_audits(project),
    )
    advance(run.pk)
    return Review.objects.get(run=run)


def _without_audits(project: Project) -> Project:
    project.review_policy = {"audit_share": 0}
    project.save(update_fields=["review_policy"])
    return project
