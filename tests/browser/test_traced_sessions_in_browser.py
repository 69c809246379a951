"""The page of a session that was made of a trace, and what tells how to send traces."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from reflection_app.core.models import Role
from reflection_app.sessions.models import Transcript
from reflection_app.sessions.traces import LATE, assemble_due, take_spans
from tests.browser.conftest import Visitor
from tests.browser.looks import is_clean
from tests.factories import make_member, make_project
from tests.sessions.spans import TRACE_ID, agent, asks, chat, tells, text, tool

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.exhaustive("a page with little script; its views are tested without a browser"),
]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_traced_session_reads_like_any_other_and_says_where_it_is_from(
    visit: Callable[..., Visitor], scheme: str
) -> None:
    project = make_project("traced")
    visitor = visit(make_member(project, Role.VIEWER), scheme=scheme)
    page = visitor.go("/p/traced/transcripts/")
    expect(page.get_by_text("/v1/traces", exact=False).first).to_be_visible()
    is_clean(page)

    root, user, asking = agent("booker"), text("user", "Cancel my trip."), asks("cancel", "c1", trip="X1")
    spans = [
        root,
        chat(1, [user], [asking], parent=root),
        tool(3, "cancel", "c1", parent=root, is_error=True, status_message="no such trip"),
        chat(5, [user, asking, tells("c1", "no such trip")], [text("assistant", "There is none.")], parent=root),
    ]
    later = timezone.now() + timedelta(minutes=2)
    take_spans(project, spans)
    assemble_due(later)
    take_spans(project, [chat(9, [text("user", "Late.")], [], parent=root)])
    assemble_due(later)
    page = visitor.go(f"/p/traced/transcripts/{Transcript.objects.get().pk}/")
    for told in (TRACE_ID, LATE, "There is none."):
        expect(page.get_by_text(told, exact=False).first).to_be_visible()
    is_clean(page, f"traced-session-{scheme}", widths=(1280, 390))
