"""Allowing a prepared call, in headless Chromium."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from reflection_app.adapters.llm.scripted import PREFIX
from reflection_app.core.audit import Actor
from reflection_app.core.models import Project, Role
from reflection_app.runs.advance import advance
from reflection_app.runs.models import Question
from reflection_app.tasks.submission import read_submission
from reflection_app.tasks.submitting import submit_task
from reflection_app.teams.models import Tool, ToolKind
from tests.browser.conftest import Visitor
from tests.browser.looks import is_clean
from tests.factories import make_member, make_project

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.exhaustive("a page with little script; its views are tested without a browser"),
]


def propose_a_payment(project: Project) -> None:
    """A run whose model wants to pay what was only to be checked."""
    config = {"method": "POST", "url": "https://billing.invalid/payments", "headers": {}}
    schema = {"type": "object", "properties": {"invoice": {"type": "string"}, "amount": {"type": "number"}}}
    Tool.objects.create(project=project, name="pay_invoice", kind=ToolKind.HTTP, parameters=schema, config=config)
    task = {
        "objective": "Check the invoice 77 for mistakes.",
        "mode": "planning",
        "kind": "invoices",
        "tools": ["pay_invoice"],
        "completeness": {"when": "off"},
        "limits": {"token_budget": 100_000, "max_iterations": 1},
    }
    models = {"default": f"{PREFIX}demo-invoice"}
    advance(submit_task(project, read_submission(task), actor=Actor(), models=models).pk)


def test_a_reviewer_sees_the_prepared_call_refuses_it_and_the_run_shows_that(visit: Callable[..., Visitor]) -> None:
    project = make_project("desk")
    propose_a_payment(project)
    question = Question.objects.get(project=project)
    page = visit(make_member(project, Role.REVIEWER)).go(f"/p/desk/questions/{question.pk}/")
    expect(page.locator(".question .call")).to_contain_text("153.5")
    is_clean(page, "tool-question", widths=(1280, 390))
    page.set_viewport_size({"width": 1280, "height": 900})
    page.get_by_role("button", name="Refuse").click()
    advance(question.run_id)
    page.reload()
    expect(page.locator("#run-permissions")).to_contain_text("Refused")
    is_clean(page, "tool-approvals", widths=(1280, 390))
