"""Marks of issues from end to end: checked as they come in, kept, put on tickets and told to the next attempt."""

from typing import Any

import pytest
from django.test import Client

from reflection_app.core.audit import Actor
from reflection_app.core.errors import InvalidInput
from reflection_app.loops.marks import Mark
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.reviews.deciding import undo_decision
from reflection_app.reviews.models import Review, ReviewState
from reflection_app.reviews.views.decision import prefilled
from reflection_app.runs.models import Step
from tests import given, when
from tests.reviews.review_items import revised, with_calls
from tests.reviews.reviewed import claim_and_decide

pytestmark = pytest.mark.django_db
SECOND = "A text on **tariffs**.\r\n\r\nIt names seven of them.\nIt names 😀 more of them.\n"


def marked(**mark: Any) -> dict[str, Any]:
    return {"description": "Count them again", "category": "correctness", "severity": "high", "mark": mark}


def decide(review: Review, *issues: dict[str, Any]) -> Review:
    return claim_and_decide(review, "overrule", verdict=VerdictName.REVISE, issues=issues)


def kept_marks(review: Review) -> list[Any]:
    assert review.decided_verdict is not None
    return [issue.get("mark") for issue in review.decided_verdict.issues]


def test_a_mark_is_put_in_its_place_and_kept_with_what_is_around_it() -> None:
    review = decide(revised("desk", second=SECOND), marked(exact="seven of them"), marked(exact="😀", start=1, end=2))
    content = review.attempt.content
    first, second = kept_marks(review)
    assert content[first["start"] : first["end"]] == "seven of them"
    assert (first["line"], first["last_line"], first["text"]) == (3, 3, "attempt")
    assert second["start"] == content.index("😀")
    assert content[: second["start"]].endswith(second["prefix"])


def test_a_passage_that_is_nowhere_is_refused_and_nothing_is_decided() -> None:
    review = revised("desk", second=SECOND)
    actor = Actor(user=given.member(review.project))
    cases: list[tuple[dict[str, Any], str]] = [
        ({"exact": "nowhere"}, "does not hold"),
        ({"exact": "of them"}, "more than once"),
        ({"exact": "seven", "attempt": 9}, "no attempt 9"),
        ({"exact": "seven", "text": "output", "step": 1}, "called no tool"),
        ({"exact": "seven", "text": "output"}, "Name the step"),
        ({"exact": "seven", "step": 3}, "goes with the text"),
    ]
    for mark, why in cases:
        issues = ({"description": "First"}, marked(**mark))
        with pytest.raises(InvalidInput, match=why) as refused:
            claim_and_decide(review, "overrule", actor=actor, verdict=VerdictName.REVISE, issues=issues)
        assert refused.value.errors[0]["field"] == "issues.1.mark"
    review.refresh_from_db()
    assert review.state == ReviewState.CLAIMED


def test_a_tools_output_is_marked_by_its_step() -> None:
    review = with_calls("desk")
    step = Step.objects.filter(run=review.run_id, kind="call_tool", result__ok=True).earliest("seq")
    decided = decide(review, marked(text="output", step=step.seq, exact="42"))
    [mark] = kept_marks(decided)
    assert (mark["text"], mark["step"], mark["start"]) == ("output", step.seq, 0)


def test_a_decision_that_is_taken_back_begins_anew_with_its_marks() -> None:
    review = revised("desk", second=SECOND)
    decided = decide(review, marked(exact="seven of them"))
    again = undo_decision(decided, actor=Actor(user=decided.decided_by))
    [row] = prefilled(again).issues
    assert row["quote"] == "seven of them"
    assert Mark.model_validate_json(row["mark"]).exact == "seven of them"


# The page without scripts.


def typed(review: Review, quote: str, **other: Any) -> dict[str, Any]:
    return {
        "lease_token": str(review.lease_token),
        "decision": "overrule",
        "verdict": "REVISE",
        "score": "40",
        "reason": "",
        "issue_category": ["quality"],
        "issue_severity": ["high"],
        "issue_description": ["Count them again"],
        "issue_suggested_fix": [""],
        "issue_path": [""],
        "issue_quote": [quote],
        "issue_mark": [""],
    } | other


@pytest.fixture
def held(client: Client) -> Review:
    review = revised("desk", second=SECOND)
    return when.claims(given.logged_in(client, review.project), review)


def test_a_passage_that_was_copied_into_the_form_is_found(client: Client, held: Review) -> None:
    client.post(f"/p/desk/reviews/{held.pk}/decision/", typed(held, "  text on tariffs. It names  seven "))
    held.refresh_from_db()
    assert [one["exact"] for one in kept_marks(held)] == ["text on **tariffs**.\r\n\r\nIt names seven"]


@pytest.mark.parametrize("mark", ["[]", '{"shown": "seven", "start": "x", "end": []}', "[" * 9_000])
def test_a_broken_place_is_passed_over_and_the_words_are_looked_for(client: Client, held: Review, mark: str) -> None:
    client.post(f"/p/desk/reviews/{held.pk}/decision/", typed(held, "seven", issue_mark=[mark]))
    held.refresh_from_db()
    assert [one["exact"] for one in kept_marks(held)] == ["seven"]


def test_kept_marks_are_on_the_page_without_scripts_numbered_and_linked(client: Client, held: Review) -> None:
    client.post(f"/p/desk/reviews/{held.pk}/decision/", typed(held, "seven of them"))
    page = client.get(f"/p/desk/reviews/{held.pk}/").text
    assert '<mark class="passage">seven of them</mark>' in page
    assert 'href="#issue-attempt-2-1" id="passage-attempt-2-1"' in page
    assert 'href="#passage-attempt-2-1"' in page
    assert '<mark class="passage">seven of them</mark>' in client.get(f"/p/desk/runs/{held.run_id}/").text
