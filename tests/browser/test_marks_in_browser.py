"""Marking passages in headless Chromium: real selections of hostile text, by mouse and by keys."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from reflection_app.core.audit import Actor
from reflection_app.reviews.claiming import claim_review
from reflection_app.reviews.models import Review, ReviewState
from reflection_app.runs.advance import advance
from reflection_app.runs.models import Attempt
from tests import given
from tests.browser.conftest import Visitor
from tests.browser.looks import is_clean
from tests.reviews.review_items import revised, with_calls

pytestmark = pytest.mark.django_db(transaction=True)
Visit = Callable[..., Visitor]
WIDTHS = (1400, 390)
HOSTILE = (
    "# Tariffs 😀 of e\u0301 harbours\n\n"
    "It names **seven** of [them](https://example.org/them) &amp; two\u200b of שלום עולם.\n"
    "<b>not bold</b> 👩‍👩‍👧 here\n\n```python\ndef f(x):\n    return x < 1\n```\n\nIt names no more.\n"
)
# Selects from the first place of one text to the end of another, as a reader does.
SELECT = """([from, to, view]) => {
  const within = document.querySelector(view);
  const find = (text) => {
    const walker = document.createTreeWalker(within, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const node = walker.currentNode;
      if (node.data.includes(text) && node.parentElement.closest("[data-at]")) return node;
    }
  };
  const [first, last] = [find(from), find(to)];
  // As a press of the mouse on a text does.
  document.activeElement.blur();
  first.parentElement.scrollIntoView({ block: "center" });
  getSelection().setBaseAndExtent(first, first.data.indexOf(from), last, last.data.indexOf(to) + to.length);
}"""


def opened(visit: Visit, review: Review, *, scheme: str = "light") -> Page:
    user = given.member(review.project)
    claim_review(review, actor=Actor(user=user))
    page = visit(user, scheme=scheme).go(f"/p/desk/reviews/{review.pk}/")
    page.wait_for_selector("body[data-keys=ready]")
    return page


def select(page: Page, start: str, end: str = "", *, view: str = ".answer") -> None:
    page.evaluate(SELECT, [start, end or start, view])
    expect(page.locator("[data-mark-offer]")).to_be_visible()


def mark(page: Page, start: str, end: str = "", *, says: str, view: str = ".answer") -> None:
    """Marks what is selected with the key, and types what is wrong with it."""
    select(page, start, end, view=view)
    page.keyboard.press("m")
    expect(page.locator(":focus")).to_have_attribute("name", "issue_description")
    page.keyboard.type(says)


def send_back(page: Page, review: Review) -> list[dict[str, Any]]:
    """The marks of the issues, once the review is decided with REVISE."""
    page.locator("[name=verdict][value=REVISE]").check()
    page.get_by_role("button", name="Decide", exact=False).click()
    page.wait_for_url("**/reviews/")
    review.refresh_from_db()
    assert review.state == ReviewState.DECIDED
    assert review.decided_verdict is not None
    return [issue["mark"] for issue in review.decided_verdict.issues if issue.get("mark")]


def test_what_is_selected_becomes_an_issue_at_its_place_in_the_raw_text(visit: Visit) -> None:
    review = revised("desk", second=HOSTILE)
    content = review.attempt.content
    page = opened(visit, review)
    passages = [
        ("😀 of e\u0301", "", "😀 of e\u0301"),
        ("seven", "two", "seven** of [them](https://example.org/them) &amp; two"),
        ("עולם", "", "עולם"),
        ("<b>not", "👩‍👩‍👧 here", "<b>not bold</b> 👩‍👩‍👧 here"),
        ("def", "return", "def f(x):\n    return"),
    ]
    for start, end, _ in passages:
        mark(page, start, end, says=f"About {start}")
    expect(page.locator(".answer mark.passage").first).to_be_visible()
    page.locator("summary", has_text="Raw text").click()
    is_clean(page, "marks-drawn", widths=WIDTHS)
    kept = send_back(page, review)
    assert [one["exact"] for one in kept] == [exact for _, _, exact in passages]
    for one in kept:
        assert content[one["start"] : one["end"]] == one["exact"]
    review.refresh_from_db()
    advance(review.run_id)


def test_a_hidden_character_that_the_raw_text_writes_out_is_marked_as_itself(visit: Visit) -> None:
    review = revised("desk", second=HOSTILE)
    page = opened(visit, review)
    page.locator("summary", has_text="Raw text").click()
    select(page, "two", " of שלום", view="#answer-raw pre")
    page.locator("[data-mark-offer] button").click()
    page.keyboard.type("Something is hidden here")
    kept = send_back(page, review)
    assert kept[-1]["exact"] == "two\u200b of שלום"


def test_marks_overlap_are_led_to_and_outlive_a_reload(visit: Visit) -> None:
    review = revised("desk", second="One two three four five. " * 3)
    page = opened(visit, review)
    mark(page, "One two three", says="First")
    page.evaluate("getSelection().removeAllRanges()")
    raw = "#answer-raw pre"
    page.locator("summary", has_text="Raw text").click()
    page.evaluate(
        """(view) => {
          const walker = document.createTreeWalker(document.querySelector(view), NodeFilter.SHOW_TEXT);
          const nodes = [];
          while (walker.nextNode()) nodes.push(walker.currentNode);
          const [first, second] = nodes.filter((node) => node.data && !node.parentElement.closest("[data-apart]"));
          getSelection().setBaseAndExtent(first, 4, second, 5);
        }""",
        raw,
    )
    expect(page.locator("[data-mark-offer]")).to_be_visible()
    page.keyboard.press("m")
    page.keyboard.type("Second")
    assert page.locator(".answer .passage-number").all_inner_texts() == ["1", "2"]
    page.locator(".answer .passage-number").nth(1).click()
    expect(page.locator(":focus")).to_have_value("Second")
    page.reload()
    expect(page.locator(".answer .passage-number")).to_have_text(["1", "2"])
    kept = send_back(page, review)
    assert [one["exact"] for one in kept] == ["One two three", "two three four"]


def test_a_passage_is_selected_and_marked_by_keys_alone(visit: Visit) -> None:
    review = revised("desk", second="One two three four five.")
    page = opened(visit, review)
    page.evaluate("""() => {
      const text = document.querySelector(".answer [data-at]").firstChild;
      getSelection().setBaseAndExtent(text, 4, text, 5);
    }""")
    for _ in range(2):
        page.keyboard.press("Shift+ArrowRight")
    expect(page.locator("[data-mark-offer]")).to_be_visible()
    page.keyboard.press("m")
    page.keyboard.type("By keys")
    assert [one["exact"] for one in send_back(page, review)] == ["two"]


def test_a_tools_output_can_be_marked(visit: Visit) -> None:
    review = with_calls("desk")
    page = opened(visit, review)
    page.locator(".call-line summary").first.click()
    mark(page, "42", says="Not what was asked", view="[data-marked=output]")
    is_clean(page, "marks-output", widths=WIDTHS)
    [*_, kept] = send_back(page, review)
    assert (kept["text"], kept["exact"]) == ("output", "42")


def test_an_answer_of_a_million_characters_is_marked_near_its_end(visit: Visit) -> None:
    review = revised("desk")
    long = "All the 😀 words of it. " * 43_000 + "The very end is wrong."
    Attempt.objects.filter(pk=review.attempt_id).update(content=long)
    page = opened(visit, review)
    page.evaluate("""() => {
      const text = document.querySelector(".answer [data-at]").firstChild;
      getSelection().setBaseAndExtent(text, text.data.length - 18, text, text.data.length - 10);
    }""")
    expect(page.locator("[data-mark-offer]")).to_be_attached()
    page.locator("[data-mark]").dispatch_event("click")
    expect(page.locator(":focus")).to_have_attribute("name", "issue_description")
    page.keyboard.type("Not so")
    kept = send_back(page, review)
    assert kept[-1]["exact"] == "very end"
    assert long[kept[-1]["start"] : kept[-1]["end"]] == kept[-1]["exact"]
