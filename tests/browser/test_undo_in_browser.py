"""A decision taken back by a key, and the open page of its run that follows."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from reflection_app.core.audit import Actor
from reflection_app.reviews.deciding import undo_decision
from reflection_app.runs.advance import advance
from tests import given
from tests.browser.conftest import Visitor
from tests.reviews.undoing import claimed, decide
from tests.runs.critiques import critique

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.exhaustive("a page with little script; its views are tested without a browser"),
]


def test_attempts_that_are_taken_back_vanish_from_an_open_page(visit: Callable[..., Visitor]) -> None:
    answers = {
        "attempt-1/answer": "first",
        "attempt-1/critique": critique(10),
        "attempt-2/answer": "second",
        "attempt-2/critique": critique(10),
    }
    project = given.scripted_project("vanish", answers)
    review = given.waiting_review(project)
    actor = Actor(user=given.member(project))
    claimed(review, actor)
    run = visit(given.member(project)).go(f"/p/vanish/runs/{review.run_id}/")
    expect(run.locator("[data-live-state]")).to_have_text("Live")
    attempts, steps = run.locator("#run-attempts > article"), run.locator("#run-steps > li")
    before = steps.count()
    decide(review, actor, "redo", instructions="Half as long.")
    advance(review.run_id)
    expect(attempts).to_have_count(2)

    undo_decision(review, actor=actor)
    expect(attempts).to_have_count(1)
    expect(steps).to_have_count(before)
    expect(run.locator("#run-attempts")).to_contain_text("waiting for review")
