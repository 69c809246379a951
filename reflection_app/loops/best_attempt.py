"""Which attempt a run keeps: the best by its strongest referee, not the last."""

from collections.abc import Iterable

from reflection_app.loops.verdicts import Judgement, Referee


def best_attempt(attempts: Iterable[int], judgements: Iterable[Judgement]) -> int | None:
    """The number of the attempt to keep, or None where there is none.

    The best score from the strongest referee wins, ties go to the earliest attempt. An attempt that a person turned
    down is kept only when there is no other. An attempt that nobody judged comes after every judged one.
    """
    numbers = sorted(set(attempts))
    if not numbers:
        return None
    decisive = strongest_judgements(judgements)
    judged = [decisive[number] for number in numbers if number in decisive]
    if not judged:
        return numbers[0]
    standing = [judgement for judgement in judged if not _turned_down(judgement)] or judged
    strongest = max(judgement.referee for judgement in standing)
    candidates = [judgement for judgement in standing if judgement.referee == strongest]
    return min(candidates, key=lambda judgement: (-judgement.score, judgement.attempt)).attempt


def strongest_judgements(judgements: Iterable[Judgement]) -> dict[int, Judgement]:
    """For each attempt its judgement by the strongest referee; of two equally strong the later one."""
    decisive: dict[int, Judgement] = {}
    for judgement in judgements:
        known = decisive.get(judgement.attempt)
        if known is None or judgement.referee >= known.referee:
            decisive[judgement.attempt] = judgement
    return decisive


def _turned_down(judgement: Judgement) -> bool:
    return judgement.referee is Referee.PERSON and not judgement.passed
