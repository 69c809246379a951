"""The pages on which people compare two answers, without any script."""

import re
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from reflection_app.comparisons.models import ComparisonSet, Pair, PairJudgement, Preference
from reflection_app.core.models import Project, Role
from tests import given, then
from tests.api.caller import Caller
from tests.comparisons.pairs import NEW, OLD, choice_for, claimed, judge_of, make_set, pair_of, said

pytestmark = pytest.mark.django_db


def visitor(project: Project, role: Role = Role.REVIEWER) -> tuple[Client, User]:
    user = given.member(project, role)
    client = Client()
    client.force_login(user)
    return client, user


def began(client: Client, *, query: str = "") -> str:
    """The address of the pair that is given."""
    answer = client.post(reverse("next_pair", args=("desk",)) + query)
    assert answer.status_code == 302
    return str(answer["Location"])


def token_of(address: str) -> str:
    (seat_id,) = re.findall(r"judging/([0-9a-f-]+)/", address)
    return str(PairJudgement.objects.get(pk=seat_id).lease_token)


def test_one_pair_after_another_until_none_is_left(project: Project) -> None:
    make_set(project, 2)
    client, _user = visitor(project)
    first = began(client)
    html = client.get(first).content.decode()
    assert "1 of 2" in re.sub(r"\s+", " ", html)
    # Blind: nothing tells who made them, and no number of an attempt.
    assert OLD not in html
    assert NEW not in html
    answer = client.post(first, {"choice": "left", "lease_token": token_of(first), "reason": "Shorter."})
    second = answer["Location"]
    assert second != first
    html = re.sub(r"\s+", " ", client.get(second).content.decode())
    assert "2 of 2" in html
    assert "You preferred the left answer." in html
    done = client.post(second, {"choice": "both_bad", "lease_token": token_of(second)}, follow=True)
    assert ". Other reviewers judge pairs with work you submitted." in done.content.decode()
    assert list(PairJudgement.objects.order_by("judged_at").values_list("choice", "reason")) == [
        ("left", "Shorter."),
        ("both_bad", ""),
    ]


def test_the_last_judgement_is_taken_back_and_its_reason_is_there_again(project: Project) -> None:
    make_set(project, 2)
    client, _user = visitor(project)
    first = began(client)
    client.post(first, {"choice": "left", "lease_token": token_of(first), "reason": "A slip."})
    judged = PairJudgement.objects.get(state="judged")
    answer = client.post(reverse("undo_pair", args=("desk", judged.pk)))
    assert answer["Location"] == first
    assert "A slip." in client.get(first).content.decode()
    assert Pair.objects.filter(judged=1).count() == 0


def test_what_cannot_be_read_is_refused_and_what_was_typed_stays(project: Project) -> None:
    make_set(project)
    client, _user = visitor(project)
    first = began(client)
    for typed in ({"choice": "better"}, {"choice": "left", "reason": "x" * 10_001}):
        answer = client.post(first, {"reason": "Kept words", "lease_token": token_of(first)} | typed)
        assert answer.status_code == 400
        assert typed.get("reason", "Kept words")[:50] in answer.text
    assert Pair.objects.get().judged == 0


def test_whose_hold_was_taken_is_told_and_keeps_the_words(project: Project) -> None:
    make_set(project)
    client, _user = visitor(project)
    first = began(client)
    token = token_of(first)
    PairJudgement.objects.all().delete()
    said(claimed(project, actor=(ben := judge_of(project))), Preference.TIE, actor=ben)
    answer = client.post(first, {"choice": "left", "lease_token": token, "reason": "My words"})
    html = answer.content.decode()
    assert (answer.status_code, "My words" in html, "Your judgment was not saved" in html) == (409, True, True)
    assert Pair.objects.get().judged == 1


def test_a_pair_is_shown_to_whoever_holds_it_and_nobody_else(project: Project) -> None:
    make_set(project)
    client, _user = visitor(project)
    first = began(client)
    other, _ben = visitor(project)
    assert other.get(first).status_code == 404
    assert other.post(first, {"choice": "left", "lease_token": token_of(first)}).status_code == 409
    stranger, _nobody = visitor(given.project("elsewhere"))
    assert stranger.get(first).status_code == 404
    viewer, _reader = visitor(project, Role.VIEWER)
    assert viewer.post(reverse("next_pair", args=("desk",))).status_code == 403
    assert Pair.objects.get().judged == 0


# Sets.


def test_an_admin_makes_a_set_for_a_pipeline_closes_it_and_opens_it(project: Project) -> None:
    admin, _user = visitor(project, Role.ADMIN)
    address = reverse("new_comparison_set", args=("desk",))
    answer = admin.post(address, {"name": "Nightly", "wanted": "3", "source": "pipeline", "most": "100"}, follow=True)
    made = ComparisonSet.objects.get()
    assert str(made.pk) in answer.content.decode()
    switch = reverse("switch_comparison_set", args=("desk", made.pk))
    admin.post(switch, {"to": "closed"})
    made.refresh_from_db()
    assert not made.is_open
    reviewer, _other = visitor(project)
    assert reviewer.post(switch, {"to": "open"}).status_code == 403
    assert reviewer.get(address).status_code == 403
    admin.post(switch, {"to": "open"})
    made.refresh_from_db()
    assert made.is_open


def test_a_form_that_makes_no_set_says_why(project: Project) -> None:
    admin, _user = visitor(project, Role.ADMIN)
    usual = {"name": "Old or new", "wanted": "1", "source": "runs", "most": "100", "model_a": "m-kept"}
    for typed in ({"name": ""}, {"wanted": "6"}, {"most": "x"}, {}):
        answer = admin.post(reverse("new_comparison_set", args=("desk",)), usual | typed)
        assert (answer.status_code, "m-kept" in answer.text) == (400, True), typed
    assert not ComparisonSet.objects.exists()


# Ratings.


def judged(project: Project, *winners: str, set_id: UUID | None = None) -> None:
    """A pair judged for each of these: `a`, `b` or anything else for a tie."""
    anna = judge_of(project)
    for winner in winners:
        seat = claimed(project, actor=anna)
        said(seat, choice_for(seat, winner) if winner in "ab" else Preference.TIE, actor=anna)


def test_ratings_are_shown_best_first_with_their_intervals(project: Project) -> None:
    made = make_set(project, 12)
    judged(project, *"bbbbbbaa====")
    client, _user = visitor(project)
    html = client.get(reverse("comparison_ratings", args=("desk",)) + f"?set={made.pk}").text
    assert html.index(NEW) < html.index(OLD)
    assert "95 % interval" in html
    assert client.get(reverse("comparison_ratings", args=("desk",)) + "?by=prompt").status_code == 200


# Blind comparisons over REST.


def test_a_bad_pair_is_refused_with_its_field_and_none_is_kept(admin: Caller) -> None:
    made = make_set(admin.project, 0)
    cases: list[tuple[dict[str, Any], str]] = [
        (pair_of(a="x", b="x"), "pairs.0"),
        (pair_of() | {"b": {"answer": "Answer 1 of the one.", "model": "z"}}, "pairs.0"),
        (pair_of() | {"a": {"answer": "  ", "model": "z"}}, "pairs.0.a.answer"),
        (pair_of() | {"a": {"answer": "x", "model": " "}}, "pairs.0.a.model"),
        (pair_of() | {"objective": "x\0"}, "pairs.0.objective"),
    ]
    for pair, field in cases:
        answer = admin.post(f"comparisons/{made.pk}/pairs", {"pairs": [pair, pair_of(7)]})
        then.refused(answer, 400)
        assert field in then.named_fields(answer)
    assert not Pair.objects.exists()
