"""Curating by ordinary forms, as a browser without scripts sends them."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from notebook_app.kinds import EntryKind, EntryState
from notebook_app.models import Entry
from notebook_app.proposing import Proposal, keep_all
from notebook_app.reading import entry_of, versions_of
from reflection_app.core.models import Project, Role
from tests import given

pytestmark = pytest.mark.django_db


@pytest.fixture
def curator(client: Client, project: Project) -> Client:
    return given.logged_in(client, project, Role.CURATOR)


def page_of(entry: Entry, what: str = "") -> str:
    return f"{PAGES}entries/{entry.id}/{what}"


def now(entry: Entry) -> Entry:
    found = entry_of(entry.project_id, entry.id)
    assert found is not None
    return found


def curate(client: Client, entry: Entry, act: str, **fields: Any) -> Any:
    sent = {"act": act, "version": entry.version, "from": "inbox", "list": "sort=name"} | fields
    return client.post(page_of(entry, "curate/"), sent)


def test_after_a_decision_the_next_of_the_same_list_is_shown_and_undo_brings_it_back(
    curator: Client, project: Project
) -> None:
    first, second, _ = proposed(project, "Alpha", "Beta", "Gamma")
    answer = curate(curator, first, "approve")
    assert answer.status_code == 302
    assert answer["Location"] == f"{INBOX}?sort=name&entry={second.id}"
    page = curator.get(answer["Location"]).text
    assert f"{page_of(first)}undo/" in page
    assert now(first).state == EntryState.APPROVED
    curator.post(page_of(first, "undo/"), {"version": now(first).version, "from": "inbox", "list": "sort=name"})
    assert now(first).state == EntryState.PROPOSED
    assert f"{page_of(first)}undo/" not in curator.get(INBOX).text


def test_an_edit_makes_a_version_that_can_be_restored(curator: Client, project: Project) -> None:
    entry = proposed(project, "Alpha", content="As it was")[0]
    sent = {"name": "Alpha", "content": "As it is", "when": "Often", "tags": "a, b", "version": entry.version}
    assert curator.post(page_of(entry, "edit/"), sent).status_code == 302
    assert "<ins>is</ins>" in curator.get(page_of(entry)).text
    assert now(entry).details == {"when": "Often"}
    assert now(entry).tags == ["a", "b"]
    curator.post(page_of(entry, "restore/"), {"number": "1", "version": now(entry).version})
    assert now(entry).content == "As it was"
    assert [version.number for version in versions_of(now(entry))] == [3, 2, 1]
    assert curator.post(page_of(entry, "restore/"), {"number": "99"}).status_code == 400


def test_a_form_that_is_refused_names_the_field_and_loses_nothing(curator: Client, project: Project) -> None:
    address = f"{PAGES}entries/new/"
    answer = curator.post(address, {"kind": "error_note", "name": " ", "cause": "A cause", "content": "Words"})
    assert answer.status_code == 400
    assert ">A cause</textarea>" in answer.text
    assert 'id="error-name"' in answer.text
    answer = curator.post(address, {"kind": "anti_pattern", "name": "Looping", "symptoms": "One\n\nTwo\n"})
    entry = Entry.objects.get(name="Looping")
    assert answer["Location"] == f"{PAGES}entries/{entry.pk}/"
    assert entry.details == {"symptoms": ["One", "Two"]}


def test_many_are_decided_together_and_taken_back(curator: Client, project: Project) -> None:
    first, second, third = proposed(project, "Alpha", "Beta", "Gamma")
    Entry.objects.filter(pk=second.id).update(flags=[{"rule": "orders", "quote": "ignore all"}])
    chosen = {"entry": [str(first.id), str(second.id)], "act": "approve", "from": "inbox"}
    page = curator.post(f"{PAGES}together/", chosen, follow=True).text
    assert [now(one).state for one in (first, third)] == [EntryState.APPROVED, EntryState.PROPOSED]
    assert now(second).state == EntryState.PROPOSED
    undo = page.split('action="/p/desk/notebook/together/')[1].split("/undo/")[0]
    curator.post(f"{PAGES}together/{undo}/undo/", {"from": "inbox"})
    assert now(first).state == EntryState.PROPOSED
    empty = curator.post(f"{PAGES}together/", {"act": "approve", "from": "inbox"})
    assert empty.status_code == 400


def test_stale_entries_are_listed_and_retired_with_a_reason(curator: Client, project: Project) -> None:
    old, fresh = proposed(project, "Old", "Fresh")
    for entry in (old, fresh):
        curate(curator, entry, "approve")
    Entry.objects.filter(pk=old.id).update(decided_at=timezone.now() - timedelta(days=40))
    page = curator.get(f"{PAGES}stale/").text.split('id="notebook-rows"')[1]
    assert "Old" in page
    assert "Fresh" not in page
    chosen = {"entry": [str(old.id)], "act": "retire", "from": "stale"}
    curator.post(f"{PAGES}together/", chosen)
    assert now(old).state == EntryState.APPROVED
    curator.post(f"{PAGES}together/", chosen | {"reason": "Nobody asks"})
    assert now(old).state == EntryState.RETIRED
    assert now(old).reason == "Nobody asks"


def test_two_are_merged_and_one_is_split(curator: Client, project: Project) -> None:
    first, second = proposed(project, "Retry a call", "Retry a call once", content="Retry the call")
    assert "Retry a call once" in curator.get(page_of(first, "merge/")).text
    assert curator.get(page_of(first, f"merge/?into={second.id}")).status_code == 200
    sent = {"into": second.id, "version": first.version, "into_version": second.version, "act": "merge"}
    assert curator.post(page_of(first, "merge/"), sent)["Location"] == page_of(second)
    assert now(first).state == EntryState.MERGED
    assert now(second).occurrences == 3
    sent = {"name": "A part of it", "content": "Only the part", "version": now(second).version}
    made = curator.post(page_of(second, "split/"), sent)
    part = Entry.objects.get(name="A part of it")
    assert made["Location"] == f"{PAGES}entries/{part.pk}/"
    assert part.kind == EntryKind.LESSON


def test_filters_of_the_address_narrow_the_list(curator: Client, project: Project) -> None:
    proposed(project, "Alpha", kind="rule", agent="bot", category="tool_misuse", tags=("red",))
    proposed(project, "Beta")
    page = curator.get(f"{PAGES}?q=alph&kind=rule&tag=red&agent=bot&category=tool_misuse").text
    assert (">Alpha</a>" in page, ">Beta</a>" in page) == (True, False)
    assert curator.get(f"{PAGES}?kind=nonsense&state=approved&owner=nobody-known").status_code == 200


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
    assert "no longer in this project" in page
