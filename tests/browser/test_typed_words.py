"""Typed words are never commands: on every page with keys, a begun decision and sentences that hold every shortcut."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, expect

from notebook_app.models import Entry
from notebook_app.public import EntryKind, Proposal, keep
from reflection_app.comparisons.models import PairJudgement
from reflection_app.core.audit import Actor, AuditEntry
from reflection_app.core.models import Project, Role
from reflection_app.reviews.claiming import claim_review
from reflection_app.reviews.deciding import decide_review
from reflection_app.reviews.decisions import DecisionInput
from reflection_app.reviews.models import Comment, Review, ReviewSkip, ReviewState
from reflection_app.runs.models import Run
from tests import given
from tests.browser.conftest import Visitor
from tests.comparisons.pairs import make_set
from tests.notebook.test_conflicts import open_conflict
from tests.reviews.waiting_rows import waiting_rows
from tests.rubrics.rated import rated_review
from tests.runs.critiques import critique

pytestmark = pytest.mark.django_db(transaction=True)
Visit = Callable[..., Visitor]
LETTERS = "The quick brown fox jumps over the lazy dog A S U N ? / ="
SENTENCE = f"Not usable, 3 of 10 points. {LETTERS} 1234567890"


def ready(page: Page) -> Page:
    page.wait_for_selector("body[data-keys=ready]")
    return page


def decided_one(project: Project, actor: Actor) -> Review:
    """A decision that the reviewer can undo, and a review that they hold."""
    first, second = given.waiting_review(project), given.waiting_review(project)
    held = claim_review(first, actor=actor)
    data = DecisionInput.model_validate({"lease_token": held.lease_token, "decision": "approve"})
    decide_review(held, data, actor=actor)
    return claim_review(second, actor=actor)


def what_happened() -> dict[str, object]:
    """What a key could have changed, of everybody."""
    return {
        "audit": list(AuditEntry.objects.order_by("pk").values_list("action", flat=True)),
        "reviews": sorted(Review.objects.values_list("pk", "state", "decision")),
        "skips": ReviewSkip.objects.count(),
        "comments": Comment.objects.count(),
        "entries": sorted(Entry.objects.values_list("pk", "state", "version")),
        "judgements": sorted(PairJudgement.objects.values_list("pk", "state")),
        "runs": Run.objects.count(),
    }


def each_alone(page: Page, text: str) -> None:
    """Press each key of `text` where no field has the focus, as after leaving it in the middle of a sentence."""
    for character in dict.fromkeys(text):
        page.evaluate("document.querySelector('dialog[open]')?.close(); document.activeElement.blur()")
        page.keyboard.press("Space" if character == " " else character)
    page.evaluate("document.querySelector('dialog[open]')?.close()")


def test_two_reviewers_type_sentences_into_their_decisions(visit: Visit) -> None:
    project = given.unsure_project("desk")
    pages = {}
    for key in ("3", "2"):
        user = given.member(project)
        review = decided_one(project, Actor(user=user))
        page = ready(visit(user).go(f"/p/desk/reviews/{review.pk}/"))
        expect(page.locator(".last-decision button")).to_have_count(1)
        pages[key] = page
    before = what_happened()
    for key, page in pages.items():
        page.keyboard.press(key)
        expect(page.get_by_label("Reason")).to_be_focused()
        page.keyboard.type(SENTENCE)
        expect(page.get_by_label("Reason")).to_have_value(SENTENCE)
        expect(page.locator(f"[name=verdict][data-key='{key}']")).to_be_checked()
    for page in pages.values():
        address = page.url
        each_alone(page, SENTENCE)
        for key in ("ArrowLeft", "ArrowRight"):
            page.evaluate("document.activeElement.blur()")
            page.keyboard.press(key)
        expect(page.locator("[data-keys-said]")).to_contain_text("Key ignored")
        expect(page.get_by_label("Reason")).to_have_value(SENTENCE)
        assert page.url == address
    assert what_happened() == before


def test_a_mouse_choice_goes_to_the_reason_and_esc_clears_it(visit: Visit) -> None:
    project = given.unsure_project("desk")
    user = given.member(project)
    review = decided_one(project, Actor(user=user))
    page = ready(visit(user).go(f"/p/desk/reviews/{review.pk}/"))
    before = what_happened()
    page.locator("[name=decision][value=overrule]").click()
    page.locator("[name=verdict][value=REJECT]").click()
    page.keyboard.type(SENTENCE)
    page.keyboard.press("Enter")
    expect(page.get_by_label("Reason")).to_have_value(f"{SENTENCE}\n")
    expect(page.locator("[name=verdict][value=REJECT]")).to_be_checked()
    page.get_by_label("Reason").fill("")
    page.keyboard.press("Escape")
    page.keyboard.press("s")
    assert what_happened() == before
    page.keyboard.press("Escape")
    expect(page.locator("[name=decision]:checked")).to_have_count(0)
    page.keyboard.press("s")
    page.wait_for_url("**/reviews/")
    assert ReviewSkip.objects.count() == 1


def test_digits_rate_a_criterion_and_words_go_to_the_reason(visit: Visit) -> None:
    review = rated_review("rated")
    user = given.member(review.project)
    claim_review(review, actor=Actor(user=user))
    page = ready(visit(user).go(f"/p/rated/reviews/{review.pk}/"))
    for key in ("o", "3", "1", "2"):
        page.keyboard.press(key)
    for name, value in (("correct", "3"), ("ready", "yes")):
        expect(page.locator(f"[name='rating.{name}'][value='{value}']")).to_be_checked()
    first = page.locator("[name='rating.tone']").first
    expect(first).to_be_checked()
    expect(page.locator("[name=verdict][value='']")).to_be_checked()
    expect(page.locator("#id_reason")).to_be_focused()
    page.keyboard.type(SENTENCE)
    expect(page.locator("#id_reason")).to_have_value(SENTENCE)
    page.locator("[name='rating.correct'][value='3']").click()
    page.keyboard.press("9")
    expect(page.locator("[name='rating.correct'][value='3']")).to_be_checked()
    expect(page.locator("[name=verdict][value='']")).to_be_checked()
    assert Review.objects.get(pk=review.pk).state == ReviewState.CLAIMED


def test_a_director_types_what_to_do_differently_after_the_key(visit: Visit) -> None:
    rejecting = {
        f"attempt-{n}/{what}": said
        for n in (1, 2, 3, 4)
        for what, said in (("answer", "x"), ("critique", critique(10)))
    }
    review = given.waiting_review(given.scripted_project("directed", rejecting))
    user = given.member(review.project)
    claim_review(review, actor=Actor(user=user))
    page = ready(visit(user).go(f"/p/directed/reviews/{review.pk}/"))
    before = what_happened()
    page.keyboard.press("1")
    page.keyboard.type(SENTENCE)
    expect(page.locator("#id_reason")).to_have_value(SENTENCE)
    each_alone(page, SENTENCE)
    assert what_happened() == before


@pytest.mark.parametrize("place", ["inbox/?entry={}", "entries/{}/"])
def test_a_curator_types_a_reason(visit: Visit, place: str) -> None:
    project = given.project("desk")
    first, second = (keep(project.pk, Proposal(EntryKind.LESSON, name, content=name)).entry for name in ("One", "Two"))
    visitor = visit(given.member(project, Role.CURATOR))
    ready(visitor.go(f"/p/desk/notebook/{place.format(second.pk)}")).keyboard.press("a")
    visitor.page.wait_for_selector("[data-key=u]")
    page = ready(visitor.go(f"/p/desk/notebook/{place.format(first.pk)}"))
    expect(page.locator("[data-key=u]")).to_have_count(1)
    before, address = what_happened(), page.url
    page.keyboard.press("r")
    page.keyboard.type(SENTENCE)
    expect(page.locator("#reject-reason")).to_have_value(SENTENCE)
    each_alone(page, SENTENCE + "xeumjk")
    expect(page.locator("#reject-reason")).to_have_value(SENTENCE)
    assert (what_happened(), page.url) == (before, address)


def test_a_curator_settles_a_conflict_and_types(visit: Visit) -> None:
    project = given.project("desk")
    open_conflict(project, "Enable the response cache for reports.", "Disable the response cache for reports.")
    conflict = open_conflict(project)
    page = ready(visit(given.member(project, Role.CURATOR)).go(f"/p/desk/notebook/conflicts/{conflict.pk}/"))
    before, address = what_happened(), page.url
    page.keyboard.press("2")
    each_alone(page, SENTENCE + "jksumb")
    assert (what_happened(), page.url) == (before, address)
    conflict.refresh_from_db()
    assert conflict.state == "open"


def test_who_compares_types_why(visit: Visit) -> None:
    project = given.project("desk")
    make_set(project, 3)
    page = visit(given.member(project)).go("/p/desk/comparisons/")
    page.get_by_role("button", name="Compare", exact=True).first.click()
    ready(page).keyboard.press("1")
    expect(page.get_by_text("2 of 3")).to_be_visible()
    ready(page).get_by_text("Reason (optional)").click()
    page.get_by_label("Reason").focus()
    before, address = what_happened(), page.url
    page.keyboard.type(SENTENCE)
    expect(page.get_by_label("Reason")).to_have_value(SENTENCE)
    # A digit is the very choice that the reason is typed for.
    each_alone(page, LETTERS.replace("=", "") + "sud")
    expect(page.get_by_label("Reason")).to_have_value(SENTENCE)
    assert (what_happened(), page.url) == (before, address)


def test_a_key_does_not_leave_selected_rows(visit: Visit) -> None:
    project = given.project("desk", review_policy={"audit_share": 0})
    rows = waiting_rows(project, 2)
    page = ready(visit(given.member(project)).go("/p/desk/reviews/"))
    page.locator(f"#pick-{rows[0].pk}").check()
    before, address = what_happened(), page.url
    each_alone(page, SENTENCE)
    assert (what_happened(), page.url) == (before, address)
    page.locator(f"#pick-{rows[0].pk}").uncheck()
    page.keyboard.press("n")
    page.wait_for_url(f"**/reviews/{rows[0].pk}/")


def test_a_key_pressed_while_a_list_loads_acts(visit: Visit) -> None:
    project = given.project("desk", review_policy={"audit_share": 0})
    [row] = waiting_rows(project, 1)
    visitor = visit(given.member(project))
    held: list[Route] = []
    visitor.page.route("**/htmx-2*.js", lambda route: route.continue_() if held else held.append(route))
    visitor.page.goto(f"{visitor.address}/p/desk/reviews/", wait_until="commit")
    expect(visitor.page.get_by_role("button", name="Review next")).to_be_visible()
    visitor.page.keyboard.press("n")
    assert Review.objects.get(pk=row.pk).state == ReviewState.WAITING
    held[0].continue_()
    visitor.page.wait_for_url(f"**/reviews/{row.pk}/")
    assert Review.objects.get(pk=row.pk).state == ReviewState.CLAIMED
