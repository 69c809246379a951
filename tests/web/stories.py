"""Runs in the states that pages show, made by really running loops on scripted models."""

from typing import Any

from django.test import Client

from reflection_app.adapters.llm.scripted import register_script
from reflection_app.core.audit import Actor
from reflection_app.core.models import Membership, Project, Role
from reflection_app.reviews.claiming import claim_review
from reflection_app.reviews.models import Review
from reflection_app.runs.advance import advance
from reflection_app.runs.models import Run
from tests.factories import make_member, make_project, submit
from tests.runs.critiques import critique

HOSTILE = '<script>alert(1)</script> <img src=x onerror=alert(2)> [go](javascript:alert(3)) "><b onclick=alert(4)>x</b>'


def project_with(name: str, answers: dict[str, str], **fields: Any) -> Project:
    """A project whose every model is the script `name`, and which draws no audits."""
    fields.setdefault("review_policy", {"audit_share": 0})
    return make_project(name, models_by_role={"default": register_script(name, answers)}, **fields)


def unsure_project(name: str, *, text: str = "A first text.", said: str | None = None) -> Project:
    """A project whose critic is unsure of the first attempt, so that its runs wait for a person."""
    said = said or critique(
        80, approved=True, confidence=0.2, issues=[{"description": "No title", "suggested_fix": "Add one"}]
    )
    return project_with(
        name,
        {
            "attempt-1/answer": text,
            "attempt-1/critique": said,
            "attempt-2/answer": "A second text.",
            "attempt-2/critique": critique(95, approved=True),
        },
    )


def waiting_review(project: Project, **submission: Any) -> Review:
    """The review that a fresh run of the project waits for."""
    run = finished(project, **submission)
    return Review.objects.get(run=run)


def finished(project: Project, **submission: Any) -> Run:
    """A run that went as far as it goes without a person."""
    run = submit(project, **submission)
    advance(run.pk)
    run.refresh_from_db()
    return run


def logged_in(client: Client, project: Project, role: Role = Role.ADMIN) -> Client:
    client.force_login(make_member(project, role))
    return client


def claimed_by(client: Client, review: Review) -> Review:
    """The review, claimed by whoever `client` is logged in as."""
    membership = Membership.objects.get(user_id=client.session["_auth_user_id"], project=review.project)
    return claim_review(review, actor=Actor(user=membership.user))
