"""Which attempt a run keeps: the best by its strongest referee, not the last."""

from collections.abc import Iterable

from reflection_app.loops.verdicts import Judgement, Referee, Verdict


def best_attempt(attempts: Iterable[int], judgements: Iterable[Judgement], *, pick: int | None = None) -> int | None:
    """The number of the attempt to keep, or None where there is none.

    What a person accepted comes first, and what a person rejected is kept only when there is nothing else. Otherwise
    the strongest referee decides: what it passed before what it did not, then the score, ties to the earliest. A person
    who sent an attempt back has given it a score that stands among those of the strongest referee. An attempt that
    nobody judged comes after every judged one. A `pick`, made by more evidence than a score, stands in the place of the
    scores, but not against a person.
    """
    numbers = sorted(set(attempts))
    if not numbers:
        return None
    decisive = strongest_judgements(judgements)
    judged = [decisive[number] for number in numbers if number in decisive]
    if not judged:
        return numbers[0]
    accepted = [judgement for judgement in judged if judgement.referee is Referee.PERSON and judgement.passed]
    if pick in numbers and not accepted and not _is_rejected(decisive.get(pick)):
        return pick
    candidates = accepted or _of_the_strongest(judged) or judged
    return min(candidates, key=lambda judgement: (not judgement.passed, -judgement.score, judgement.attempt)).attempt


def _is_rejected(judgement: Judgement | None) -> bool:
    return judgement is not None and judgement.referee is Referee.PERSON and judgement.verdict is Verdict.REJECT


def _of_the_strongest(judged: list[Judgement]) -> list[Judgement]:
    by_people = [judgement for judgement in judged if judgement.referee is Referee.PERSON]
    by_others = [judgement for judgement in judged if judgement.referee is not Referee.PERSON]
    strongest = max((judgement.referee for judgement in by_others), default=None)
    sent_back = [judgement for judgement in by_people if judgement.verdict is not Verdict.REJECT]
    return sent_back + [judgement for judgement in by_others if judgement.referee == strongest]


def strongest_judgements(judgements: Iterable[Judgement]) -> dict[int, Judgement]:
    """For each attempt its judgement by the strongest referee; of two equally strong the later one."""
    decisive: dict[int, Judgement] = {}
    for judgement in judgements:
        known = decisive.get(judgement.attempt)
        if known is None or judgement.referee >= known.referee:
            decisive[judgement.attempt] = judgement
    return decisive
