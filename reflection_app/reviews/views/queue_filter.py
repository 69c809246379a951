"""The queue's filter in addresses: read by its own fields alone, and written again so that an address can be shared."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlencode

from django.http import QueryDict
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic import ValidationError

from reflection_app.loops.storable import storable
from reflection_app.reviews.review_views import LONGEST_SEARCH, QueueView, SortedFilter
from reflection_app.web.access import DeskRequest

SCORE = gettext_lazy("A score is a number from 0 to 100.")
SENTENCES: dict[str, str | Promise] = {
    "view": gettext_lazy("There is no such view of the queue."),
    "reason": gettext_lazy("There is no such reason for a review."),
    "verdict": gettext_lazy("A verdict is PASS, REVISE or REJECT."),
    "mode": gettext_lazy("There is no such mode."),
    "sort": gettext_lazy("The queue cannot be sorted like that."),
    "min_score": SCORE,
    "max_score": SCORE,
}
# Of what an item's page carries along for the way back.
LONGEST_QUERY = 2_000
RANGE = ("min_score", "max_score")


@dataclass(frozen=True)
class AskedQueue:
    """What was understood of an address, and a sentence for each field that was not."""

    filter: SortedFilter
    errors: list[dict[str, str]] = field(default_factory=list)

    @property
    def query(self) -> str:
        return query_of(self.filter)

    @property
    def within(self) -> str:
        """The query of an item's page that remembers this queue."""
        return urlencode({"queue": self.query}) if self.query else ""

    def with_view(self, view: QueueView) -> str:
        """The query of another view with the same filters."""
        return query_of(self.filter.model_copy(update={"view": view}))

    def with_reason(self, reason: str | None) -> str:
        """The query with another reason, or with none."""
        return query_of(self.filter.model_copy(update={"reason": reason}))


def read_queue(data: Mapping[str, str]) -> AskedQueue:
    """The filter of an address; what cannot be understood is left aside and told of."""
    given = {name: text for name in SortedFilter.model_fields if (text := data.get(name, "").strip())}
    errors: list[dict[str, str]] = []
    while True:
        try:
            return AskedQueue(SortedFilter.model_validate(given), errors)
        except ValidationError as problem:
            for error in problem.errors(include_url=False, include_input=False):
                named = [str(part) for part in error["loc"][:1]]
                errors.append({"field": named[0] if named else RANGE[0], "message": _sentence(named)})
                for name in named or RANGE:
                    given.pop(name, None)


def _sentence(named: list[str]) -> str:
    if not named:
        return _("The lowest score is above the highest.")
    if named[0] in SENTENCES:
        return str(SENTENCES[named[0]])
    return _("At most %(most)s characters can be searched for.") % {"most": LONGEST_SEARCH}


def query_of(asked: SortedFilter) -> str:
    """The filter as an address writes it, without what every address means anyway."""
    given = asked.model_dump(mode="json", exclude_defaults=True)
    return urlencode({name: f"{value:g}" if isinstance(value, float) else value for name, value in given.items()})


def carried(request: DeskRequest) -> AskedQueue:
    """The queue that the reader came from, whose query pages of items and their forms carry along as one field."""
    text = request.POST.get("queue") or request.GET.get("queue") or ""
    return read_queue(QueryDict(storable(text)[:LONGEST_QUERY]))
