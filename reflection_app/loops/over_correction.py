"""When further attempts make things worse."""

from collections.abc import Sequence

from reflection_app.loops.verdicts import Judgement


def is_over_corrected(judgements: Sequence[Judgement]) -> bool:
    """True where the scores, in order of the attempts, say to stop.

    Three scores in a row strictly falling stop any loop. A weak referee's word is noisy, so under one the first
    attempt that does not improve on the best before it stops the loop.
    """
    scores = [judgement.score for judgement in judgements]
    if len(scores) >= 3 and scores[-3] > scores[-2] > scores[-1]:
        return True
    return len(scores) >= 2 and judgements[-1].referee.is_weak and scores[-1] <= max(scores[:-1])
