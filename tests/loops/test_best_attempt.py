from reflection_app.loops.best_attempt import best_attempt
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
