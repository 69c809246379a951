"""Asks a policy about one verdict, with draws handed in."""

from collections.abc import Sequence
from decimal import Decimal

from reflection_app.loops.attempt_effects import Draw, Drawn
from reflection_app.loops.attempts import Waits, why_it_waits
from reflection_app.loops.effect import Performed
from reflection_app.loops.progress import Progress
from reflection_app.loops.task_spec import Limits, Mode, ReviewPolicy, TaskSpec
from reflection_app.loops.verdicts import Judgement


def decided_by(
    policy: ReviewPolicy,
    judgement: Judgement,
    *,
    kind: str = "",
    agent: str = "",
    cost_usd: Decimal = Decimal(0),
    drawn: Sequence[float] = (),
    draws: list[Draw] | None = None,
) -> Waits | None:
    """What `why_it_waits` answers. Each draw that it performs takes the next of `drawn`, and is added to `draws`."""
    spec = TaskSpec(objective="x", mode=Mode.ACTOR_CRITIC, kind=kind, agent=agent, review_policy=policy)
    run = Progress(Limits())
    run.cost_usd = cost_usd
    asking = why_it_waits(spec, run, judgement)
    values = iter(drawn)
    answer: Performed[Drawn] | None = None
    while True:
        try:
            effect = asking.send(answer)
        except StopIteration as stop:
            answered: Waits | None = stop.value
            return answered
        assert isinstance(effect, Draw)
        if draws is not None:
            draws.append(effect)
        answer = Performed(value=Drawn(value=next(values), share=effect.share))
