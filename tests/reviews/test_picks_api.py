"""Unsettled picks over REST."""

import pytest
from pytest_django.fixtures import DjangoAssertNumQueries

from tests.api.caller import Caller
from tests.reviews.picks import OPEN_PICK, kept_against_a_test, unsettled_pick

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_pick_tells_why_it_is_open_and_what_there_is_to_pick_from(caller: Caller) -> None:
    review = unsettled_pick(caller.project)
    told = caller.get(f"reviews/{review.pk}").body
    assert (told["reason"], told["attempt"]["number"]) == ("unsettled_pick", 1)
    assert "1 of 7 tests that the model wrote pass." in told["why"]
    assert [(one["number"], one["content"], one["referee"]) for one in told["candidates"]] == [
        (1, OPEN_PICK[0], "generated_tests"),
        (2, OPEN_PICK[1], "generated_tests"),
    ]
    assert told["candidates"][0]["score"] == pytest.approx(14.29)


def test_code_kept_against_a_test_of_a_model_is_unverified_with_the_reason(caller: Caller) -> None:
    run = caller.get(f"runs/{kept_against_a_test(caller.project).pk}").body
    assert (run["outcome"], run["best_attempt"]["number"], run["waiting_for"]) == ("unverified", 1, None)
    assert "6 of 7 tests that the model wrote pass." in run["error"]
    assert run["error"].endswith("nothing shows that they are wrong: assert f(7) == 49.")


def test_a_list_with_picks_takes_two_queries_more_however_many_there_are(
    caller: Caller, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(3):
        unsettled_pick(caller.project)
    caller.get("reviews")
    with django_assert_max_num_queries(5):
        assert len(caller.get("reviews").body["results"]) == 3
