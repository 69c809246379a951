"""A reviewer's decision as it is handed in."""

from typing import Annotated
from uuid import UUID

from pydantic import AfterValidator, Field, PlainValidator, WithJsonSchema

from reflection_app.loops.effects import Decision, DirectorsDecision
from reflection_app.loops.storable import storable
from reflection_app.loops.values import Value
from reflection_app.loops.verdicts import Issue, Score
from reflection_app.loops.verdicts import Verdict as VerdictName

KNOWN = [*(one.value for one in Decision), *(one.value for one in DirectorsDecision)]


def _decision(said: object) -> Decision | DirectorsDecision:
    """The decision by its name. A union of the two would name two fields where neither is meant."""
    if said not in KNOWN:
        raise ValueError(f"must be one of {', '.join(KNOWN)}")
    named = str(said)
    return Decision(named) if named in Decision else DirectorsDecision(named)


AnyDecision = Annotated[
    Decision | DirectorsDecision, PlainValidator(_decision), WithJsonSchema({"type": "string", "enum": KNOWN})
]


class DecisionInput(Value):
    """A reviewer's decision. `verdict`, `score` and `issues` are for overruling; what is left out follows the referee.

    Where the reason is `unsettled_pick` or `broken_tests`, the question is which attempt to keep. To approve is to
    vouch for the attempt that is asked about: it gets a PASS, whatever the tests said. Overruling with PASS and
    `attempt` keeps another one, with REJECT says that none is right, and with REVISE asks for one more attempt, made
    from the issues and the reason.

    Of a REJECT that the run waits for, a person decides as its director: `redo` with `instructions` sends it back,
    `accept` with a `reason` takes it all the same, and `close` ends the run as rejected.
    """

    lease_token: UUID
    decision: AnyDecision
    verdict: VerdictName | None = None
    score: Score | None = None
    issues: Annotated[tuple[Issue, ...], Field(max_length=50)] | None = None
    reason: Annotated[str, Field(max_length=10_000), AfterValidator(storable)] = Field(
        default="", description="needed to accept what was rejected"
    )
    instructions: Annotated[str, Field(max_length=10_000), AfterValidator(storable)] = Field(
        default="", description="of `redo`: what is to be done differently"
    )
    attempt: int | None = Field(
        default=None,
        ge=1,
        le=2**31 - 1,
        description="of an unsettled pick: the number of the attempt to keep, where it is not the one asked about",
    )
