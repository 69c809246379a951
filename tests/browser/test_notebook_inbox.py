"""The notebook's inbox by keyboard in headless Chromium: each key, two curators at once, and what is on the screen."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from notebook_app.public import Entry, EntryKind, EntryState, Proposal, entry_of, keep
from reflection_app.core.audit import Actor
from reflection_app.core.models import Project, Role
from reflection_app.notebook.curating import approve_entry, tag_entry
from reflection_app.notebook.input import CurationInput, TagsInput
from reflection_app.reviews.models import Comment
from tests import given
from tests.browser.conftest import Visitor
from tests.browser.looks import is_clean
from tests.notebook.test_comparing import conflicting

pytestmark = pytest.mark.django_db(transaction=True)
Visit = Callable[..., Visitor]
INBOX = "/p/desk/notebook/inbox/"


@pytest.fixture
def entries(project: Project) -> list[Entry]:
    """Four proposals, the most frequent first."""
    found = []
    for number, name in enumerate(("First", "Second", "Third", "Fourth")):
        for time in range(5 - number):
            proposal = Proposal(EntryKind.LESSON, name, content=f"About the {name}", evidence={"proposal": f"{time}"})
            kept = keep(project.pk, proposal)
        found.append(kept.entry)
    return found


def opened(page: Page, entry: Entry) -> Page:
    """The page once the entry is on the screen and the keys are for it."""
    page.wait_for_selector(f"[data-keys=ready][data-painted='{entry.id}']")
    return page


def state_of(entry: Entry) -> EntryState:
    return EntryState(now(entry).state)


def now(entry: Entry) -> Entry:
    found = entry_of(entry.project_id, entry.id)
    assert found is not None
    return found


def test_keys_move_approve_reject_and_undo(visit: Visit, project: Project, entries: list[Entry]) -> None:
    page = opened(visit(given.member(project, Role.CURATOR)).go(INBOX), entries[0])
    page.evaluate("window.sameDocument = true")
    page.keyboard.press("j")
    opened(page, entries[1])
    page.keyboard.press("k")
    opened(page, entries[0])
    page.keyboard.press("a")
    opened(page, entries[1])
    assert state_of(entries[0]) == EntryState.APPROVED
    expect(page.locator("#notebook-said")).to_contain_text("Approved: First")
    expect(page.locator(f"#row-{entries[0].id}")).to_have_count(0)
    expect(page.locator(".tabs [data-news=entries] .count")).to_contain_text("3")

    page.keyboard.press("r")
    page.keyboard.type("Nobody needs it")
    page.keyboard.press("Enter")
    opened(page, entries[2])
    assert state_of(entries[1]) == EntryState.REJECTED
    assert now(entries[1]).reason == "Nobody needs it"

    page.keyboard.press("u")
    opened(page, entries[1])
    assert state_of(entries[1]) in {EntryState.PROPOSED, EntryState.SCREENED}
    expect(page.locator(f"#row-{entries[1].id}")).to_have_count(1)
    assert page.evaluate("window.sameDocument")


def test_keys_edit_tag_comment_search_and_help(visit: Visit, project: Project, entries: list[Entry]) -> None:
    page = opened(visit(given.member(project, Role.CURATOR)).go(INBOX), entries[0])
    page.keyboard.press("e")
    expect(page.locator("#id_name")).to_be_focused()
    page.locator("#id_content").fill("Other words")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#entry-body")).to_contain_text("Other words")
    assert now(entries[0]).content == "Other words"
    opened(page, entries[0])

    page.keyboard.press("t")
    expect(page.locator("#entry-tags")).to_be_focused()
    page.keyboard.type("one, two")
    page.keyboard.press("Enter")
    expect(page.locator("#inbox-item .entry-tag").first).to_have_text("#one")
    assert now(entries[0]).tags == ["one", "two"]
    opened(page, entries[0])

    page.keyboard.press("c")
    expect(page.locator("#comment-text")).to_be_focused()
    page.keyboard.type("Is it so? a")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#comment-list")).to_contain_text("Is it so?")
    assert Comment.objects.get().about_id == entries[0].id
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    expect(page.locator("#notebook-q")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.locator("dialog[open]")).to_contain_text("Approve, then next")
    page.keyboard.press("a")
    page.keyboard.press("Escape")
    page.keyboard.press("m")
    page.wait_for_url(f"**/entries/{entries[0].id}/merge/")
    assert all(state_of(entry) != EntryState.APPROVED for entry in entries)


@pytest.mark.parametrize("key", ["Shift+A", "a"])
def test_many_are_selected_and_approved_with_one_key(
    visit: Visit, project: Project, entries: list[Entry], key: str
) -> None:
    page = opened(visit(given.member(project, Role.CURATOR)).go(INBOX), entries[0])
    page.keyboard.press("x")
    page.keyboard.press("j")
    opened(page, entries[1])
    page.keyboard.press("j")
    opened(page, entries[2])
    page.keyboard.press("x")
    expect(page.locator("[data-shift-key=A]")).to_contain_text("Approve 2 selected")
    # The entry that is shown is not selected.
    page.keyboard.press("k")
    opened(page, entries[1])
    page.keyboard.press(key)
    expect(page.locator("#notebook-said")).to_contain_text("Approved 2 entries.")
    assert [state_of(entry) == EntryState.APPROVED for entry in entries] == [True, False, True, False]
    opened(page, entries[1])
    page.keyboard.press("u")
    expect(page.locator(f"#row-{entries[2].id}")).to_have_count(1)
    assert all(state_of(entry) != EntryState.APPROVED for entry in entries)


def test_a_filter_applies_as_it_is_chosen(visit: Visit, project: Project, entries: list[Entry]) -> None:
    page = opened(visit(given.member(project, Role.CURATOR)).go(INBOX), entries[0])
    page.get_by_label("Type", exact=True).select_option("rule")
    page.wait_for_url("**kind=rule**")
    expect(page.get_by_text("No matching proposals")).to_be_visible()


def test_two_curators_at_once_see_each_other_and_lose_nothing(
    visit: Visit, project: Project, entries: list[Entry]
) -> None:
    other = Actor(user=given.member(project, Role.CURATOR))
    page = opened(visit(given.member(project, Role.CURATOR)).go(INBOX), entries[0])
    page.wait_for_selector("[data-bell-state=open]")
    approve_entry(project, entries[1].id, CurationInput(), actor=other)
    expect(page.locator(f"#row-{entries[1].id}")).to_have_count(0)
    tag_entry(project, entries[0].id, TagsInput(tags=("theirs",)), actor=other)
    expect(page.locator("#entry-news")).to_contain_text(f"{other.label} changed its tags while you were reading.")
    page.keyboard.press("r")
    page.keyboard.type("My reason")
    page.keyboard.press("Enter")
    expect(page.locator("#inbox-item .alert[role=alert]")).to_contain_text(f"{other.label} changed this entry")
    expect(page.locator("#reject-reason")).to_have_value("My reason")
    expect(page.locator("#inbox-item .entry-tag")).to_have_text("#theirs")
    assert state_of(entries[0]) != EntryState.REJECTED
    page.locator("#reject-reason").press("Enter")
    opened(page, entries[2])
    assert now(entries[0]).reason == "My reason"


def test_a_key_does_not_act_before_the_entry_is_on_the_screen(
    visit: Visit, project: Project, entries: list[Entry]
) -> None:
    page = opened(visit(given.member(project, Role.CURATOR)).go(INBOX), entries[0])
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    # Two presses within one moment: the second one was meant for what has gone by then.
    page.evaluate(
        """() => { for (let i = 0; i < 2; i++)
        document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "a", bubbles: true, cancelable: true })); }"""
    )
    opened(page, entries[1])
    assert len(sent) == 1
    assert [state_of(entry) == EntryState.APPROVED for entry in entries] == [True, False, False, False]


def test_the_key_to_approve_asks_first_where_another_entry_says_the_opposite(visit: Visit, project: Project) -> None:
    conflict = conflicting(project.pk)
    entry = conflict.first
    page = opened(visit(given.member(project, Role.CURATOR)).go(f"{INBOX}?entry={entry.id}"), entry)
    page.keyboard.press("a")
    keep_this = page.locator("input[name=contradictions][value=supersede]")
    expect(keep_this).to_be_focused()
    page.keyboard.press("Enter")
    assert state_of(entry) != EntryState.APPROVED
    is_clean(page, "contradiction-approval")
    page.keyboard.press("Space")
    page.keyboard.press("Enter")
    expect(page.locator("#notebook-said")).to_contain_text("Approved:")
    assert (state_of(entry), state_of(conflict.second)) == (EntryState.APPROVED, EntryState.RETIRED)
