"""Which attempt a run keeps: the best by its strongest referee, not the last."""

from collections.abc import Iterable, Sequence

from reflection_app.loops.verdicts import Judgement, Referee, Verdict


def best_attempt(attempts: Iterable[int], judgements: Iterable[Judgement], *, pick: int | None = None) -> int | None:
    """The number of the attempt to keep, or None where there is none.

    What a person accepted comes first, and what a person rejected is kept only when there is nothing else. A `pick`,
    made by more evidence than a score, comes next. Then an attempt that meets more of the minimum requirements comes
    before one that meets fewer, whoever judged them. Otherwise the strongest referee decides: what it passed before
    what it did not, then the score, ties to the earliest. A person who sent an attempt back has given it a score that
    stands among those of the strongest referee. An attempt that nobody judged comes after every judged one.
    """
    numbers = sorted(set(attempts))
    if not numbers:
        return None
    judgements = [judgement for judgement in judgements if not judgement.is_void]
    decisive = strongest_judgements(judgements)
    judged = [decisive[number] for number in numbers if number in decisive]
    if not judged:
        return pick if pick in numbers else numbers[0]
    accepted = [judgement for judgement in judged if judgement.referee is Referee.PERSON and judgement.passed]
    if pick in numbers and not accepted and not _is_rejected(decisive.get(pick)):
        return pick
    bearable = [judgement for judgement in judged if not _is_rejected(judgement)] or judged
    candidates = accepted or _of_the_strongest(_meeting_most(bearable, shares=_shares_met(judgements)))
    return min(candidates, key=lambda judgement: (not judgement.passed, -judgement.score, judgement.attempt)).attempt


def _is_rejected(judgement: Judgement | None) -> bool:
    return judgement is not None and judgement.referee is Referee.PERSON and judgement.verdict is Verdict.REJECT


def _shares_met(judgements: Iterable[Judgement]) -> dict[int, float]:
    """What share of the requirements each attempt meets, from whichever of its judgements tells it."""
    return {judged.attempt: judged.requirements.share_met for judged in judgements if judged.requirements is not None}


def _meeting_most(judged: Sequence[Judgement], *, shares: dict[int, float]) -> list[Judgement]:
    """Those that meet no fewer requirements than any other. One of which it is not known is not held to fall short."""
    known = [shares[judgement.attempt] for judgement in judged if judgement.attempt in shares]
    most = max(known, default=0.0)
    return [judgement for judgement in judged if shares.get(judgement.attempt, most) >= most]


def _of_the_strongest(judged: list[Judgement]) -> list[Judgement]:
    by_people = [judgement for judgement in judged if judgement.referee is Referee.PERSON]
    by_others = _who_say_more([judgement for judgement in judged if judgement.referee is not Referee.PERSON])
    strongest = max((judgement.referee for judgement in by_others), default=None)
    # Of what a person rejected there is something here only where there is nothing else.
    return by_people + [judgement for judgement in by_others if judgement.referee == strongest]


def _who_say_more(judged: list[Judgement]) -> list[Judgement]:
    """Without those that say only that requirements are not met, where others meet no more of them and were judged."""
    more = [judgement for judgement in judged if judgement.passed or not judgement.is_by_requirements]
    return more or judged


def strongest_judgements(judgements: Iterable[Judgement]) -> dict[int, Judgement]:
    """For each attempt its judgement by the strongest referee; of two equally strong the later one."""
    decisive: dict[int, Judgement] = {}
    for judgement in judgements:
        known = decisive.get(judgement.attempt)
        if known is None or judgement.referee >= known.referee:
            decisive[judgement.attempt] = judgement
    return decisive
