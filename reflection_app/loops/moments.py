"""Points in time as callers write them, in a form that can be looked for."""

from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, AwareDatetime


def in_utc(moment: datetime) -> datetime:
    """The moment in UTC: PostgreSQL refuses zones 16 hours off. Raises ValueError for what no calendar has."""
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("is before the first or after the last day of the calendar") from None


Moment = Annotated[AwareDatetime, AfterValidator(in_utc)]
