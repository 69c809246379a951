"""The order of a check's supplements, and which of them there is room and money for. Pure."""

from collections.abc import Sequence
from decimal import Decimal

from reflection_app.loops.completeness.checks import Completeness, CompletenessSettings, Supplement
from reflection_app.loops.completeness.dropped import DropCode, Dropped
from reflection_app.loops.completeness.records import SupplementRecord

MOST_DROPPED = 100
UNKNOWN_SHARE = 0.5


def ordered(
    found: Completeness,
    records: Sequence[SupplementRecord | None],
    *,
    settings: CompletenessSettings,
    left_usd: Decimal | None,
) -> Completeness:
    """Return `found` with its supplements ordered by their record, at most `max_supplements` of them.

    `left_usd` is the rest of the check's money limit. All are dropped where it is used up, or where the price of the
    check is unknown under such a limit.
    """
    known = (*records, *(None,) * len(found.supplements))
    best_first = in_order_of_record(
        [one.model_copy(update={"record": record}) for one, record in zip(found.supplements, known, strict=False)]
    )
    most = settings.max_supplements
    parameters: dict[str, str | int | float] = {"most": most}
    code = DropCode.TOO_MANY
    if left_usd is not None and not found.cost_known:
        most, code, parameters = 0, DropCode.PRICE_UNKNOWN, {}
    elif left_usd is not None and left_usd <= 0:
        most, code, parameters = 0, DropCode.MONEY_SPENT, {}
    dropped = [
        Dropped(operation=one.operation, code=code, parameters=parameters, is_open=True) for one in best_first[most:]
    ]
    return found.model_copy(
        update={"supplements": tuple(best_first[:most]), "dropped": (*found.dropped, *dropped)[:MOST_DROPPED]}
    )


def in_order_of_record(supplements: Sequence[Supplement]) -> list[Supplement]:
    """Return the supplements by completed runs per token, best first; equals in the model's order.

    A supplement without a record counts as completing every second run at the cost of the dearest.
    """
    dearest = max((one.record.tokens for one in supplements if one.record), default=1.0)

    def rate(one: Supplement) -> float:
        if one.record is None:
            return UNKNOWN_SHARE / max(1.0, dearest)
        return one.record.share / max(1.0, one.record.tokens)

    return sorted(supplements, key=rate, reverse=True)
