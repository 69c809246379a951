from hypothesis import given
from hypothesis import strategies as st

from reflection_app.loops.progress import best_attempt
from reflection_app.loops.requirement_checks import judge_requirements
from reflection_app.loops.requirements import RequirementResult, RequirementsReport
from reflection_app.loops.verdicts import Judgement, Referee, Verdict


def judged(attempt: int, referee: Referee, score: float, verdict: Verdict = Verdict.REVISE) -> Judgement:
    return Judgement(attempt=attempt, referee=referee, verdict=verdict, score=score)


def test_there_is_no_best_of_no_attempts() -> None:
    assert best_attempt([], []) is None


def test_of_unjudged_attempts_the_earliest_is_kept() -> None:
    assert best_attempt([1, 2], []) == 1


def test_a_judged_attempt_comes_before_an_unjudged_one() -> None:
    assert best_attempt([1, 2], [judged(2, Referee.CRITIC, 5)]) == 2


def test_a_weaker_referee_never_replaces_what_a_stronger_one_passed() -> None:
    judgements = [judged(1, Referee.TESTS, 100, Verdict.PASS), judged(2, Referee.CRITIC, 100, Verdict.PASS)]
    assert best_attempt([1, 2], judgements) == 1


def test_the_strongest_referee_decides_between_scores() -> None:
    judgements = [judged(1, Referee.CRITIC, 99), judged(1, Referee.TESTS, 20), judged(2, Referee.TESTS, 60)]
    assert best_attempt([1, 2], judgements) == 2


def test_what_a_person_accepted_is_kept_over_any_score() -> None:
    judgements = [judged(1, Referee.PERSON, 55, Verdict.PASS), judged(2, Referee.CRITIC, 99)]
    assert best_attempt([1, 2], judgements) == 1


def test_an_attempt_that_a_person_sent_back_keeps_the_persons_score() -> None:
    sent_back = judged(1, Referee.PERSON, 90)
    assert best_attempt([1, 2], [sent_back, judged(2, Referee.CRITIC, 35)]) == 1
    assert best_attempt([1, 2], [sent_back, judged(2, Referee.CRITIC, 95)]) == 2
    assert best_attempt([1, 2], [sent_back, judged(2, Referee.CRITIC, 60, Verdict.PASS)]) == 2


def test_what_a_person_rejected_is_kept_only_when_there_is_nothing_else() -> None:
    turned_down = judged(1, Referee.PERSON, 45, Verdict.REJECT)
    assert best_attempt([1], [turned_down]) == 1
    assert best_attempt([1, 2], [turned_down, judged(2, Referee.CRITIC, 40)]) == 2


def met(*which: bool) -> RequirementsReport:
    return RequirementsReport(results=tuple(RequirementResult(name="r", met=one) for one in which))


def checked(attempt: int, score: float, report: RequirementsReport, referee: Referee = Referee.CRITIC) -> Judgement:
    return judged(attempt, referee, score).model_copy(update={"requirements": report})


def test_what_meets_the_requirements_is_kept_over_any_score_that_does_not() -> None:
    assert best_attempt([1, 2], [checked(1, 90, met(True, False)), checked(2, 35, met(True, True))]) == 2


def test_of_attempts_that_fall_short_the_one_that_meets_most_is_kept() -> None:
    reports = [checked(1, 40, met(True, False, False)), checked(2, 20, met(True, True, False))]
    assert best_attempt([1, 2, 3], [*reports, checked(3, 99, met(False, False, False))]) == 2


def test_requirements_come_before_the_strength_of_the_referee() -> None:
    short = judge_requirements(met(True, True, False), attempt=1)
    assert best_attempt([1, 2], [short, checked(2, 31, met(True, True, True))]) == 2
    assert best_attempt([1, 2], [checked(1, 31, met(True, True, True)), short.model_copy(update={"attempt": 2})]) == 1


def test_a_count_of_requirements_does_not_replace_a_critics_verdict_on_an_attempt_that_meets_as_many() -> None:
    again = judge_requirements(met(True, False), attempt=2)
    assert best_attempt([1, 2], [checked(1, 45, met(True, False)), again]) == 1
    assert best_attempt([1, 2], [judge_requirements(met(True, False), attempt=1), again]) == 1
    passed = judge_requirements(met(True, True), attempt=2)
    assert best_attempt([1, 2], [checked(1, 95, met(True, True)), passed]) == 2


def test_what_is_known_of_the_requirements_holds_after_a_person_judged() -> None:
    sent_back = judged(1, Referee.PERSON, 90)
    known = [checked(1, 40, met(False)), checked(2, 30, met(True))]
    assert best_attempt([1, 2], [*known, sent_back]) == 2
    assert best_attempt([1, 2], [known[1], sent_back]) == 1


def test_a_person_and_a_pick_come_before_the_requirements() -> None:
    known = [checked(1, 40, met(False)), checked(2, 30, met(True))]
    assert best_attempt([1, 2], [*known, judged(1, Referee.PERSON, 60, Verdict.PASS)]) == 1
    assert best_attempt([1, 2], known, pick=1) == 1
    assert best_attempt([1, 2], [*known, judged(2, Referee.PERSON, 10, Verdict.REJECT)]) == 1


REFEREES = st.sampled_from(Referee)
JUDGEMENTS = st.lists(
    st.builds(
        Judgement,
        attempt=st.integers(1, 4),
        referee=REFEREES,
        verdict=st.sampled_from(Verdict),
        score=st.integers(0, 100).map(float),
        requirements=st.none() | st.lists(st.booleans(), min_size=1, max_size=3).map(lambda which: met(*which)),
    ),
    max_size=8,
)


@given(judgements=JUDGEMENTS, made=st.integers(1, 4))
def test_whatever_was_judged_no_attempt_is_kept_that_is_known_to_fall_shorter(
    judgements: list[Judgement], made: int
) -> None:
    kept = best_attempt(range(1, made + 1), judgements)
    shares = {one.attempt: one.requirements.share_met for one in judgements if one.requirements is not None}
    by_person = {one.attempt for one in judgements if one.referee is Referee.PERSON}
    assert kept in range(1, made + 1)
    others = [shares[number] for number in range(1, made + 1) if number in shares and number not in by_person]
    if kept in shares and kept not in by_person and not by_person:
        assert shares[kept] == max(others)
