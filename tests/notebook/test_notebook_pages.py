"""The notebook's reading pages: the inbox, browsing, one entry and what is stale; for each role, and for strangers."""

from typing import Any

import pytest
from django.test import Client

from notebook_app.kinds import EntryKind
from notebook_app.models import Entry
from notebook_app.proposing import Proposal, keep_all
from reflection_app.core.models import Project, Role
from tests import given

pytestmark = pytest.mark.django_db
PAGES = "/p/desk/notebook/"
INBOX = f"{PAGES}inbox/"


def proposed(project: Project, *names: str, **fields: Any) -> list[Entry]:
    """Proposals with these names, each found as often as its place in the list says."""
    kind = EntryKind(fields.pop("kind", EntryKind.LESSON))
    rows = []
    for number, name in enumerate(names, start=1):
        for time in range(number):
            proposal = Proposal(kind, name, evidence={"proposal": f"{name}-{time}"}, **fields)
            kept = keep_all(project.pk, [proposal])
        rows.append(kept[0].entry)
    return rows


def test_the_most_frequent_proposal_comes_first_and_is_open_beside_the_list(client: Client, project: Project) -> None:
    entries = proposed(project, "Seldom", "Twice", "Often")
    page = given.logged_in(client, project, Role.CURATOR).get(INBOX).text
    places = [page.index(f'id="row-{entry.id}"') for entry in reversed(entries)]
    assert places == sorted(places)
    assert f'data-entry="{entries[2].id}"' in page
    assert "×3" in page


def test_every_page_shows_hostile_words_as_words(client: Client, project: Project) -> None:
    entry = proposed(
        project,
        given.HOSTILE,
        description=given.HOSTILE,
        content=given.HOSTILE,
        agent=given.HOSTILE[:100],
        category=given.HOSTILE[:100],
        tags=("<b>x</b>",),
    )[0]
    given.logged_in(client, project, Role.CURATOR)
    for address in (
        INBOX,
        PAGES,
        f"{PAGES}entries/{entry.id}/",
        f"{PAGES}entries/{entry.id}/edit/",
        f"{INBOX}?q=<script>",
    ):
        page = client.get(address)
        assert page.status_code == 200, address
        assert "<script>alert" not in page.text
        assert "<img src=x" not in page.text
        assert "<b onclick" not in page.text
        assert "<b>x</b>" not in page.text


def test_evidence_leads_to_what_is_in_this_project_only(client: Client, project: Project) -> None:
    run, strange = given.submitted_run(project), given.submitted_run(given.project("other"))
    keep_all(project.pk, [Proposal(EntryKind.LESSON, "Mine", evidence={"run": str(run.pk)})])
    entry = keep_all(project.pk, [Proposal(EntryKind.LESSON, "Mine", evidence={"run": str(strange.pk)})])[0].entry
    page = given.logged_in(client, project, Role.VIEWER).get(f"{PAGES}entries/{entry.id}/").text
    assert f"/p/desk/runs/{run.pk}/" in page
    assert str(strange.pk) not in page
    assert ": no longer in this project" in page
