"""The order of what is recalled."""

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from notebook_app.recall import Use, by_use, fuse, lift_of, use_rank

A, B, C, D = (UUID(int=number) for number in range(1, 5))
FLOOR = 0.1


def order(text: dict[UUID, float], meaning: dict[UUID, float] | None, **use: Use) -> list[UUID]:
    uses = {UUID(int=int(name[1:])): one for name, one in use.items()}
    return [one.entry_id for one in fuse(text, meaning, least_likeness=FLOOR, use=uses)]


def test_what_both_lists_have_stands_before_what_one_has() -> None:
    assert order({B: 0.6, A: 0.5}, {C: 0.5, B: 0.45}) == [B, A, C]


def test_what_was_asked_for_by_its_name_stands_before_what_is_near() -> None:
    assert order({A: 0.9}, {B: 0.5, C: 0.4}) == [A, B, C]


def test_one_word_of_many_does_not_stand_before_what_is_near() -> None:
    assert order({A: 0.21}, {B: 0.5, C: 0.4}) == [B, C, A]


def test_what_has_nothing_to_do_with_the_question_is_not_told() -> None:
    assert order({A: 0.1}, {B: 0.05, A: 0.04}) == []
    assert order({A: 0.05}, None) == []


def test_without_meaning_fewer_words_are_enough() -> None:
    assert order({A: 0.15}, None) == [A]
    assert order({A: 0.15}, {}) == []


def test_use_tells_neighbours_apart_and_does_not_lift_what_does_not_fit() -> None:
    near = {A: 0.5, B: 0.49, C: 0.48, D: 0.05}
    assert order({}, near, e2=Use(occurrences=50, lift=0.2))[0] == A
    assert order({}, near) == [A, B, C]
    assert order({}, near, e3=Use(occurrences=50, lift=0.2), e2=Use(lift=-0.2)) == [A, C, B]
    assert D not in order({}, near, e4=Use(occurrences=10_000, recalled=10_000, lift=1.0))


@given(st.lists(st.floats(0.2, 1), min_size=1, max_size=30))
def test_what_leads_both_lists_leads_and_nothing_is_lost(scores: list[float]) -> None:
    ids = [UUID(int=number) for number in range(1, len(scores) + 1)]
    listed = dict(zip(ids, sorted(scores, reverse=True), strict=True))
    assert order(listed, listed) == ids


def test_equals_stand_in_the_order_of_their_ids() -> None:
    assert order({B: 0.9}, {A: 0.5}, e1=Use())[0] == B
    assert [one.entry_id for one in fuse({}, {B: 0.5}, least_likeness=FLOOR)] == [B]


def test_a_mistake_seen_fifty_times_stands_above_ten_newer_ones_seen_once() -> None:
    often = ("often", use_rank(Use(occurrences=50), age_days=200))
    once = [(f"once {number}", use_rank(Use(), age_days=number / 10)) for number in range(10)]
    assert by_use([*once, often])[0] == "often"
    assert by_use([*once, often])[1:] == [f"once {number}" for number in range(10)]


def test_what_harms_falls_and_what_was_used_rises() -> None:
    usual = use_rank(Use(occurrences=5), age_days=10)
    assert use_rank(Use(occurrences=5, lift=-0.3), age_days=10) < usual
    assert use_rank(Use(occurrences=5, recalled=100), age_days=10) > usual


def test_little_known_of_a_lift_is_little_lift() -> None:
    assert lift_of(given=0, helped=0, withheld=9, succeeded_without=1) == 0
    few = lift_of(given=2, helped=2, withheld=2, succeeded_without=0)
    many = lift_of(given=200, helped=200, withheld=200, succeeded_without=0)
    assert 0 < few < 0.2
    assert 0.9 < many < 1
