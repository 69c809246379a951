"""The conflict inbox and its item: what is shown, settled and taken back on pages."""

from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from notebook_app.comparing import compare
from notebook_app.kinds import By
from notebook_app.models import Conflict, ConflictKind, Entry
from notebook_app.proposing import Proposal, keep
from notebook_app.public import EntryKind, approve, count_open_conflicts, edit
from reflection_app.adapters.llm.scripted import register_script
from reflection_app.core.audit import AuditEntry
from reflection_app.core.models import Project, Role
from reflection_app.runs.advance import advance
from reflection_app.runs.models import Run
from tests import given

pytestmark = pytest.mark.django_db(transaction=True)

ALWAYS = "Always force-push to the feature branch after a rebase."
NEVER = "Never force-push to the feature branch after a rebase."
HOSTILE = '<img src=x onerror=alert(1)> {{ 7*7 }} \u202e "quoted"'


def rule(project: Project, content: str, *, name: str = "") -> Entry:
    proposal = Proposal(
        kind=EntryKind.RULE, name=name or content[:50], content=content, evidence={"proposal": str(content)[:40]}
    )
    return keep(project.pk, proposal).entry


def open_conflict(project: Project, one: str = ALWAYS, other: str = NEVER) -> Conflict:
    rule(project, one)
    [found] = compare(project.pk, rule(project, other).pk)
    Conflict.objects.filter(pk=found.pk).update(kind=ConflictKind.CONTRADICTION)
    found.refresh_from_db()
    return found


def logged_in(project: Project, role: Role = Role.CURATOR) -> tuple[Client, User]:
    user = given.member(project, role)
    client = Client()
    assert client.login(username=user.username, password=given.PASSWORD)
    return client, user


def page(name: str, project: Project, conflict: Conflict | None = None) -> str:
    return reverse(name, args=[project.slug, *([conflict.pk] if conflict else [])])


def versions(conflict: Conflict) -> dict[str, str]:
    first, second = Entry.objects.get(pk=conflict.first_id), Entry.objects.get(pk=conflict.second_id)
    return {"first_expected_version": str(first.version), "second_expected_version": str(second.version)}


def test_the_inbox_lists_what_is_open() -> None:
    project = given.project()
    conflict = open_conflict(project)
    client, _user = logged_in(project, Role.VIEWER)
    said = client.get(page("conflicts", project)).content.decode()
    assert page("conflict", project, conflict) in said
    assert "Contradiction" in said
    assert client.get(page("conflicts", project), {"state": "settled"}).content.decode().count("data-queue-row") == 0
    assert client.get(page("conflicts", project), {"state": "x", "kind": "y", "after": "z"}).status_code == 200


def test_the_item_shows_both_sides_with_what_differs_marked() -> None:
    project = given.project()
    conflict = open_conflict(project)
    client, _user = logged_in(project)
    said = client.get(page("conflict", project, conflict)).content.decode()
    assert "<del>Always</del>" in said
    assert "<ins>Never</ins>" in said
    assert said.count('data-key="1"') == said.count('data-key="2"') == said.count('data-key="b"') == 1


def test_hostile_text_is_shown_as_text() -> None:
    project = given.project()
    conflict = open_conflict(project, f"{ALWAYS} {HOSTILE}", f"{NEVER} {HOSTILE}")
    client, _user = logged_in(project)
    for name in ("conflict", "conflicts"):
        said = client.get(page(name, project, conflict if name == "conflict" else None)).content.decode()
        assert "<img src=x" not in said
        assert name == "conflicts" or "7*7" in said
        # In a field for editing the text stands as it is.
        assert "\u202e" not in said.split("merge-description")[0]


def test_one_that_holds_instead_retires_the_other_and_leads_to_the_next() -> None:
    project = given.project()
    other = open_conflict(project, "Enable the response cache for reports.", "Disable the response cache for reports.")
    conflict = open_conflict(project)
    client, user = logged_in(project)
    told = {"act": "supersede", "stays": str(conflict.second_id), **versions(conflict)}
    answer = client.post(page("settle_conflict", project, conflict), told)
    assert (answer.status_code, answer.url) == (302, page("conflict", project, other))  # type: ignore[attr-defined]
    assert Entry.objects.get(pk=conflict.first_id).state == "retired"
    trail = AuditEntry.objects.get(action="conflict.settled")
    assert (trail.actor_label, trail.target_id, trail.after["settlement"]) == (
        user.username,
        conflict.pk,
        "superseded",
    )
    said = client.get(page("conflict", project, conflict)).content.decode()
    assert user.username in said
    assert "let one hold instead of the other" in said


def test_a_merge_in_other_words_is_taken_back_with_everything_in_it() -> None:
    project = given.project()
    approved = rule(project, ALWAYS)
    approve(project.pk, approved.pk, by=By("ann"))
    [conflict] = compare(project.pk, rule(project, NEVER).pk)
    first = Entry.objects.get(pk=conflict.first_id)
    client, _user = logged_in(project)
    told = {"act": "merge", "stays": str(first.pk), "name": "Force pushes", "description": "", "content": "It depends."}
    assert client.post(page("settle_conflict", project, conflict), told | versions(conflict)).status_code == 302
    merged = Entry.objects.get(pk=first.pk)
    assert (merged.name, merged.content, merged.occurrences) == ("Force pushes", "It depends.", 2)
    assert client.post(page("unsettle_conflict", project, conflict)).status_code == 302
    first.refresh_from_db()
    gone = Entry.objects.get(pk=conflict.second_id)
    assert (first.content, first.occurrences, first.state) == (ALWAYS, 1, "approved")
    assert (gone.state, gone.occurrences, gone.merged_into_id) == ("screened", 1, None)
    conflict.refresh_from_db()
    assert (conflict.state, conflict.settlement) == ("open", "")


def test_a_settlement_that_was_built_on_stands() -> None:
    project = given.project()
    conflict = open_conflict(project)
    client, _user = logged_in(project)
    told = {"act": "merge", "stays": str(conflict.first_id), **versions(conflict)}
    assert client.post(page("settle_conflict", project, conflict), told).status_code == 302
    edit(project.pk, conflict.first_id, by=By("ben"), content="Something else.")
    answer = client.post(page("unsettle_conflict", project, conflict))
    assert answer.status_code == 409
    assert "ben" in answer.content.decode()
    conflict.refresh_from_db()
    assert conflict.state == "settled"


def test_what_is_refused_is_told_beside_what_was_typed() -> None:
    project = given.project()
    conflict = open_conflict(project)
    client, _user = logged_in(project)
    answer = client.post(page("settle_conflict", project, conflict), {"act": "keep_both", "reason": " "})
    assert answer.status_code == 400
    assert "Say why both are kept" in answer.content.decode()
    told = {"act": "merge", "stays": str(conflict.first_id), "name": "x" * 201, "description": "kept", "content": ""}
    answer = client.post(page("settle_conflict", project, conflict), told)
    assert answer.status_code == 400
    assert ">kept</textarea>" in answer.content.decode()
    for bad in (
        {"act": "burn"},
        {"act": "merge"},
        {"act": "merge", "stays": "x"},
        {"act": "merge", "stays": str(UUID(int=1))},
    ):
        assert client.post(page("settle_conflict", project, conflict), bad).status_code in {400, 404}
    conflict.refresh_from_db()
    assert conflict.state == "open"


def suggesting(answer: str) -> tuple[Project, Conflict, Client]:
    model = register_script(f"merge-{abs(hash(answer))}", {"merge": answer, "merge/again-1": "?", "merge/again-2": "?"})
    project = given.project(models_by_role={"default": model})
    return project, open_conflict(project), logged_in(project)[0]


def test_a_suggestion_is_shown_and_put_into_the_form_and_changes_nothing() -> None:
    project, conflict, client = suggesting(
        '{"name": "Force pushes", "description": "", "content": "<b>Ask</b>", "note": "n"}'
    )
    assert client.post(page("suggest_merge", project, conflict)).status_code == 302
    assert client.post(page("suggest_merge", project, conflict)).status_code == 409
    run = Run.objects.get(mode="merge_suggestion")
    assert "A model is at it" in client.get(page("conflict", project, conflict)).content.decode()
    advance(run.pk)
    run.refresh_from_db()
    assert (run.state, run.outcome) == ("finished", "succeeded")
    said = client.get(page("conflict_suggestion", project, conflict), headers={"HX-Request": "true"}).content.decode()
    assert "&lt;b&gt;Ask&lt;/b&gt;" in said
    assert "tokens" in said
    filled = client.get(page("conflict", project, conflict), {"words": "suggestion"}).content.decode()
    assert 'value="Force pushes"' in filled
    assert Entry.objects.get(pk=conflict.first_id).content == ALWAYS
    assert client.post(page("suggest_merge", project, conflict)).status_code == 302


def test_a_suggestion_that_failed_says_why() -> None:
    project, conflict, client = suggesting("I will not.")
    client.post(page("suggest_merge", project, conflict))
    advance(Run.objects.get(mode="merge_suggestion").pk)
    said = client.get(page("conflict", project, conflict)).content.decode()
    assert "No suggestion came of it" in said
    assert "gave no usable answer" in said


def test_what_was_suggested_for_other_words_is_not_kept() -> None:
    project, conflict, client = suggesting('{"name": "Old", "description": "d", "content": "c", "note": ""}')
    client.post(page("suggest_merge", project, conflict))
    edit(project.pk, conflict.second_id, by=By("ben"), content=f"{NEVER} It loses work.")
    compare(project.pk, conflict.second_id)
    advance(Run.objects.get(mode="merge_suggestion").pk)
    conflict.refresh_from_db()
    assert conflict.suggestion is None


def test_who_lets_a_proposal_stay_is_told_that_it_has_still_to_be_approved() -> None:
    project = given.project()
    approved = rule(project, ALWAYS)
    approve(project.pk, approved.pk, by=By(label="system"))
    [conflict] = compare(project.pk, rule(project, NEVER).pk)
    client, _ = logged_in(project)
    shown = client.get(page("conflict", project, conflict)).text
    waiting, told = ("Entry 1 is a proposal", "Entry 2 is a proposal")
    assert (waiting in shown) != (told in shown)


def test_a_run_whose_suggestion_nobody_asks_for_any_more_has_not_succeeded() -> None:
    project, conflict, client = suggesting('{"name": "Late", "description": "d", "content": "c", "note": ""}')
    client.post(page("suggest_merge", project, conflict))
    edit(project.pk, conflict.second_id, by=By("ben"), content=f"{NEVER} It loses work.")
    compare(project.pk, conflict.second_id)
    run = Run.objects.get(mode="merge_suggestion")
    advance(run.pk)
    run.refresh_from_db()
    assert run.outcome == "failed"
    assert "was not kept" in run.error


def test_one_that_narrows_another_is_no_conflict_to_settle_and_can_be_linked_without_a_reason() -> None:
    project = given.project()
    conflict = open_conflict(project)
    Conflict.objects.filter(pk=conflict.pk).update(kind=ConflictKind.REFINEMENT)
    client, _ = logged_in(project)
    assert count_open_conflicts(project.pk) == 0
    assert "data-queue-row" not in client.get(page("conflicts", project)).content.decode()
    assert "data-queue-row" in client.get(page("conflicts", project), {"kind": "refinement"}).content.decode()
    assert client.post(page("settle_conflict", project, conflict), {"act": "keep_both"}).status_code == 302
    entry = client.get(reverse("entry", args=[project.slug, conflict.first_id])).content.decode()
    assert "One narrows the other" in entry
