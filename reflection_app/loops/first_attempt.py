"""Whether a run's first attempt was good enough: what reflection, and the worth of lessons, are measured by.

A run that stopped early still tells, as far as its first attempt was judged: one that is good ends its run, so leaving
out what stopped later would leave out failures alone. Where only a weak referee's word stands in a run that ended
unverified, nothing is known.
"""

from collections.abc import Iterable

from reflection_app.loops.best_attempt import strongest_judgements
from reflection_app.loops.ends import Outcome
from reflection_app.loops.verdicts import Judgement, Referee


def first_attempt_succeeded(
    judgements: Iterable[Judgement], *, outcome: Outcome | None, kept: int | None, made: int
) -> bool | None:
    """Whether attempt 1 was accepted; None where nothing can tell, as of a run that has not ended.

    `kept` is the number of the attempt that the run keeps, `made` how many there are. The strongest referee's word on
    attempt 1 holds. What it let pass has failed all the same where the run went on and kept another.
    """
    if outcome is None or not made:
        return None
    judged = strongest_judgements(judged for judged in judgements if not judged.is_void).get(1)
    if judged is not None and judged.referee is Referee.PERSON:
        return judged.passed
    if outcome is Outcome.UNVERIFIED and (judged is None or judged.referee.is_weak):
        return None
    if judged is None:
        return False if made > 1 else None
    return judged.passed and kept == 1
