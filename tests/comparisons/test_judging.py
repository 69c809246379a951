"""People who are given pairs and judge them: nobody twice, nobody their own, never more than are wanted."""

from collections import Counter
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone

from reflection_app.comparisons.claiming import (
    AlreadyJudged,
    HoldLost,
    claim_next,
    progress_of,
    skip_pair,
    unskip_pairs,
)
from reflection_app.comparisons.judging import JudgementInput, judge_pair, last_judgement, undo_judgement
from reflection_app.comparisons.models import JudgementState, Pair, PairJudgement, Preference
from reflection_app.comparisons.sets import SetClosed, switch_set
from reflection_app.core.audit import Actor, AuditEntry
from reflection_app.core.models import OwnWork, Project
from reflection_app.reviews.own_work import OwnWorkRefused
from tests import given
from tests.comparisons.pairs import add_pairs, choice_for, claimed, judge_of, make_set, pair_of, said
from tests.reviews.test_reviews import together

pytestmark = pytest.mark.django_db


def run_out(seat: PairJudgement) -> PairJudgement:
    """The seat, whose hold ran out a moment ago."""
    PairJudgement.objects.filter(pk=seat.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    seat.refresh_from_db()
    return seat


def test_a_pair_is_held_judged_and_gone(project: Project) -> None:
    make_set(project)
    anna = judge_of(project)
    seat = claimed(project, actor=anna)
    done = said(seat, choice_for(seat, "b"), actor=anna, reason="  Shorter.  ")
    assert (done.state, done.better, done.reason, done.lease_token) == ("judged", "b", "Shorter.", None)
    assert Pair.objects.get().judged == 1
    assert claim_next(project, actor=anna) is None
    assert claim_next(project, actor=judge_of(project)) is None
    trail = AuditEntry.objects.filter(target="pairjudgement").order_by("created_at")
    assert list(trail.values_list("action", flat=True)) == ["pair.claimed", "pair.judged"]


def test_chance_decides_which_answer_is_on_the_left_and_it_is_kept(project: Project) -> None:
    make_set(project, 24)
    anna = judge_of(project)
    sides = Counter[str]()
    for _pair in range(24):
        seat = claimed(project, actor=anna)
        sides[seat.left] += 1
        # Who comes back to it finds it as it was.
        assert claimed(project, actor=anna).left == seat.left
        said(seat, Preference.TIE, actor=anna)
    # All on one side happens once in 10^7 times.
    assert min(sides["a"], sides["b"]) >= 1


def test_as_many_people_as_are_wanted_judge_a_pair_and_none_twice(project: Project) -> None:
    make_set(project, wanted=2)
    people = [judge_of(project) for _ in range(3)]
    first, second = claimed(project, actor=people[0]), claimed(project, actor=people[1])
    assert claim_next(project, actor=people[2]) is None
    said(first, Preference.LEFT, actor=people[0])
    assert claim_next(project, actor=people[0]) is None
    said(second, Preference.TIE, actor=people[1])
    assert Pair.objects.get().judged == 2


def test_a_person_and_their_key_are_one(project: Project) -> None:
    make_set(project, wanted=2)
    anna = given.member(project)
    key, _secret = given.api_key(project, ["reviews:write"], made_by=anna)
    seat = claimed(project, actor=Actor(user=anna))
    assert claimed(project, actor=Actor(api_key=key)) == seat
    done = said(seat, Preference.LEFT, actor=Actor(api_key=key))
    assert done.is_by_key
    assert claim_next(project, actor=Actor(user=anna)) is None


def test_nobody_is_given_work_of_their_own_unless_the_project_allows_it() -> None:
    project = given.project(own_work=OwnWork.NOBODY)
    anna = given.member(project)
    key, _secret = given.api_key(project, ["tasks:write"], made_by=anna)
    make_set(project, actor=Actor(api_key=key))
    assert claim_next(project, actor=Actor(user=anna)) is None
    assert claimed(project, actor=judge_of(project)).person != anna.pk
    project.own_work = OwnWork.PEOPLE
    project.save()
    make_set(project, actor=Actor(api_key=key))
    seat = claimed(project, actor=Actor(user=anna))
    # What was allowed when it was claimed may be no longer.
    project.own_work = OwnWork.NOBODY
    project.save()
    with pytest.raises(OwnWorkRefused):
        said(seat, Preference.LEFT, actor=Actor(user=anna))
    assert Pair.objects.filter(judged=1).count() == 0


def test_another_projects_pairs_are_nobodys() -> None:
    make_set(given.project())
    project = given.project()
    assert claim_next(project, actor=judge_of(project)) is None


def test_the_pair_that_was_judged_least_comes_first(project: Project) -> None:
    make_set(project, 2, wanted=2)
    first, second = judge_of(project), judge_of(project)
    done = said(claimed(project, actor=first), Preference.TIE, actor=first)
    assert claimed(project, actor=second).pair_id != done.pair_id


# Two at once.


@pytest.mark.django_db(transaction=True)
def test_two_people_at_once_on_one_pair_of_which_one_has_it() -> None:
    for _time in range(4):
        project = given.project()
        make_set(project)
        people = [judge_of(project) for _ in range(2)]

        def claim(actor: Actor, project: Any = project) -> Any:
            return claim_next(project, actor=actor)

        found = together(*(lambda actor=actor: claim(actor) for actor in people))
        assert sorted(one is None for one in found) == [False, True]
        assert PairJudgement.objects.filter(project=project).count() == 1


@pytest.mark.django_db(transaction=True)
def test_many_people_at_once_share_the_seats_of_a_pair(project: Project) -> None:
    make_set(project, wanted=3)
    people = [judge_of(project) for _ in range(5)]
    found = together(*(lambda actor=actor: claim_next(project, actor=actor) for actor in people))
    assert sum(one is not None for one in found) == 3


@pytest.mark.django_db(transaction=True)
def test_one_person_in_two_tabs_has_one_seat_and_one_judgement(project: Project) -> None:
    make_set(project, 2, wanted=2)
    anna = judge_of(project)
    seats = together(*(lambda: claim_next(project, actor=anna) for _tab in range(2)))
    for pair in Pair.objects.all():
        assert pair.judgements.filter(person=anna.person_id).count() <= 1
    seat = seats[0]
    assert isinstance(seat, PairJudgement)
    seat.refresh_from_db()
    results = together(*(lambda: said(seat, Preference.LEFT, actor=anna) for _tab in range(2)))
    assert sorted(type(one).__name__ for one in results) == ["AlreadyJudged", "PairJudgement"]
    assert Pair.objects.get(pk=seat.pair_id).judged == 1
    assert AuditEntry.objects.filter(action="pair.judged").count() == 1


@pytest.mark.django_db(transaction=True)
def test_who_comes_late_and_who_takes_over_at_once_end_with_one_judgement() -> None:
    for _time in range(4):
        project = given.project()
        make_set(project)
        late, other = judge_of(project), judge_of(project)
        seat = run_out(claimed(project, actor=late))
        results = together(
            lambda seat=seat, late=late: said(seat, Preference.TIE, actor=late),
            lambda project=project, other=other: claim_next(project, actor=other),
        )
        pair, (kept,) = Pair.objects.get(project=project), PairJudgement.objects.filter(project=project)
        if any(isinstance(one, HoldLost) for one in results):
            assert (pair.judged, kept.person, kept.state) == (0, other.person_id, "claimed")
        else:
            assert (pair.judged, kept.person, kept.state) == (1, late.person_id, "judged")


# Leases.


def test_a_hold_that_ran_out_is_its_persons_until_somebody_needs_the_seat(project: Project) -> None:
    make_set(project)
    anna, ben = judge_of(project), judge_of(project)
    seat = run_out(claimed(project, actor=anna))
    assert said(seat, Preference.LEFT, actor=anna).state == JudgementState.JUDGED
    undone = run_out(undo_judgement(seat, actor=anna))
    assert claimed(project, actor=ben).pair_id == seat.pair_id
    with pytest.raises(HoldLost, match="Your lock on this pair expired and another reviewer claimed it"):
        said(undone, Preference.LEFT, actor=anna)
    assert Pair.objects.get().judged == 0


def test_who_claims_again_keeps_the_token_and_gets_more_time(project: Project) -> None:
    make_set(project)
    anna = judge_of(project)
    seat = run_out(claimed(project, actor=anna))
    again = claimed(project, actor=anna)
    assert again.lease_token == seat.lease_token
    assert again.lease_until is not None
    assert again.lease_until > timezone.now()
    assert claim_next(project, actor=judge_of(project)) is None


def test_another_token_holds_nothing(project: Project) -> None:
    make_set(project)
    anna = judge_of(project)
    seat = claimed(project, actor=anna)
    told = JudgementInput(lease_token=uuid4(), choice=Preference.LEFT)
    with pytest.raises(HoldLost):
        judge_pair(seat, told, actor=anna)
    seat.refresh_from_db()
    # Somebody else's token is no better in other hands.
    with pytest.raises(HoldLost):
        said(seat, Preference.LEFT, actor=judge_of(project))
    assert Pair.objects.get().judged == 0


# Skipping and taking back.


def test_what_is_skipped_comes_to_others_and_comes_back_when_asked_for(project: Project) -> None:
    make_set(project)
    anna, ben = judge_of(project), judge_of(project)
    seat = claimed(project, actor=anna)
    assert seat.lease_token is not None
    skip_pair(seat, lease_token=seat.lease_token, actor=anna)
    assert claim_next(project, actor=anna) is None
    assert progress_of(project, actor=anna).skipped == 1
    assert unskip_pairs(project, actor=anna) == 1
    assert claimed(project, actor=anna).person == anna.person_id
    assert claim_next(project, actor=ben) is None


def test_a_skipped_seat_is_free_for_somebody_else(project: Project) -> None:
    make_set(project)
    anna, ben = judge_of(project), judge_of(project)
    seat = claimed(project, actor=anna)
    assert seat.lease_token is not None
    skip_pair(seat, lease_token=seat.lease_token, actor=anna)
    said(claimed(project, actor=ben), Preference.TIE, actor=ben)
    with pytest.raises(AlreadyJudged):
        skip_pair(seat, lease_token=uuid4(), actor=anna)
    # Nothing is left to come back to.
    assert progress_of(project, actor=anna).skipped == 0


def test_a_judgement_is_taken_back_by_who_gave_it_and_nobody_else(project: Project) -> None:
    make_set(project, 2)
    anna, ben = judge_of(project), judge_of(project)
    first = said(claimed(project, actor=anna), Preference.LEFT, actor=anna, reason="Why not")
    assert last_judgement(project, actor=anna) == first
    with pytest.raises(AlreadyJudged):
        undo_judgement(first, actor=ben)
    again = undo_judgement(first, actor=anna)
    assert (again.state, again.choice, again.left, again.reason) == ("claimed", None, first.left, "Why not")
    assert Pair.objects.get(pk=first.pair_id).judged == 0
    with pytest.raises(AlreadyJudged):
        undo_judgement(first, actor=anna)
    assert said(again, Preference.RIGHT, actor=anna).choice == Preference.RIGHT


def test_progress_counts_what_is_done_and_what_can_still_be_done(project: Project) -> None:
    made = make_set(project, 3)
    anna, ben = judge_of(project), judge_of(project)
    said(claimed(project, actor=anna), Preference.LEFT, actor=anna)
    claimed(project, actor=ben)
    progress = progress_of(project, actor=anna, set_id=made.pk)
    assert (progress.judged, progress.left, progress.place, progress.total) == (1, 1, 2, 2)
    claimed(project, actor=anna)
    assert progress_of(project, actor=anna, set_id=made.pk) == progress


def test_a_closed_set_gives_out_and_takes_nothing_and_opens_again(project: Project) -> None:
    made = make_set(project, 2)
    anna, admin = judge_of(project), judge_of(project)
    seat = claimed(project, actor=anna)
    switch_set(made, is_open=False, actor=admin)
    switch_set(made, is_open=False, actor=admin)
    assert AuditEntry.objects.filter(action="comparison_set.closed").count() == 1
    assert claim_next(project, actor=anna) is None
    with pytest.raises(SetClosed):
        said(seat, Preference.LEFT, actor=anna)
    with pytest.raises(SetClosed):
        add_pairs(made, pair_of(9))
    switch_set(made, is_open=True, actor=admin)
    assert said(claimed(project, actor=anna), Preference.LEFT, actor=anna).choice == Preference.LEFT
