"""Where an entry was learned leads there, and what was learned from something stands on its page."""

import pytest
from django.test import Client

from notebook_app.kinds import EntryKind
from notebook_app.proposing import Proposal, keep_all
from reflection_app.core.models import Project, Role
from reflection_app.runs.models import Attempt, Verdict
from tests import given
from tests.repairs.reports import begun_run, kept_report
from tests.repairs.tool_failures import report

pytestmark = pytest.mark.django_db
NAME = "Write the title first"


def evidence_of(project: Project, kind: str) -> tuple[dict[str, str], str]:
    """What evidence of this kind names, and the address where that is shown."""
    base = f"/p/{project.slug}"
    if kind == "tool_failure":
        failure = report(project)
        return {kind: str(failure.pk)}, f"{base}/tools/failures/{failure.pk}/"
    if kind == "report":
        kept = kept_report(begun_run(project))
        return {kind: kept.reflection_id}, f"{base}/reports/{kept.reflection_id}/"
    review = given.waiting_review(project, mode="actor_critic")
    run, attempt = f"{base}/runs/{review.run_id}/", Attempt.objects.get(run=review.run_id)
    verdict = Verdict.objects.get(attempt=attempt)
    found = {
        "run": (review.run_id, run),
        "review": (review.pk, f"{base}/reviews/{review.pk}/"),
        "attempt": (attempt.pk, f"{run}#attempt-1"),
        "verdict": (verdict.pk, f"{run}#attempt-1"),
    }
    thing, address = found[kind]
    return {kind: str(thing)}, address


@pytest.mark.parametrize("kind", ["run", "verdict", "review", "report", "tool_failure"])
def test_evidence_leads_both_ways(client: Client, kind: str) -> None:
    project = given.unsure_project("desk")
    refs, address = evidence_of(project, kind)
    given.logged_in(client, project, Role.CURATOR)
    assert NAME not in client.get(address).text
    entry = keep_all(project.pk, [Proposal(EntryKind.LESSON, NAME, evidence=refs)])[0].entry

    page = f"/p/desk/notebook/entries/{entry.pk}/"
    assert f'href="{address}"' in client.get(page).text
    shown = client.get(address).text
    assert NAME in shown
    assert f'href="{page}"' in shown


def test_what_another_project_has_is_not_led_to(client: Client) -> None:
    project, other = given.unsure_project("desk"), given.project("other")
    for number, kind in enumerate(("attempt", "verdict")):
        refs, _address = evidence_of(given.unsure_project(f"third-{number}"), kind)
        entry = keep_all(project.pk, [Proposal(EntryKind.LESSON, NAME, evidence=refs)])[0].entry
        keep_all(other.pk, [Proposal(EntryKind.LESSON, NAME, evidence=refs)])
    page = given.logged_in(client, project, Role.CURATOR).get(f"/p/desk/notebook/entries/{entry.pk}/").text
    assert "attempt: no longer in this project" in page
    assert "verdict: no longer in this project" in page
    assert "/p/third" not in page
