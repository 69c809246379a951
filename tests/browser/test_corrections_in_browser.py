"""Where people judge what the desk claims: usable by everybody, at any width."""

from collections.abc import Callable

import pytest

from reflection_app.core.models import Role
from reflection_app.loops.protocol.error_classes import ErrorClass, FailureFacts
from tests.browser.conftest import Visitor
from tests.browser.looks import is_clean
from tests.factories import make_member, make_project
from tests.repairs.reports import begun_run, kept_report
from tests.repairs.tool_failures import report as report_failure

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.exhaustive("pages without script of their own; their views are tested without a browser"),
]
WIDTHS = (390, 1280)


def test_corrections_are_made_at_any_width(visit: Callable[..., Visitor]) -> None:
    project = make_project("desk")
    visitor = visit(make_member(project, Role.ADMIN))
    page = visitor.go(f"/p/desk/tools/failures/{report_failure(project).pk}/")
    page.get_by_text("Is this diagnosis right?").click()
    is_clean(page, "judged_failure", widths=WIDTHS)
    facts = FailureFacts(is_completed=False)
    report = kept_report(begun_run(project), type=ErrorClass.DECISION_ERROR, facts=facts)
    is_clean(visitor.go(f"/p/desk/reports/{report.reflection_id}/"), "judged_report", widths=WIDTHS)
    is_clean(visitor.go("/p/desk/settings/notebook/"), "label_settings", widths=WIDTHS)
