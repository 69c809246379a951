"""What somebody wants to see of the notebook, read from an address and written again so that it can be shared."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Annotated, Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib.auth.models import User
from django.http import QueryDict
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from notebook_app.entry_filter import EntryFilter
from notebook_app.kinds import EntryKind, EntryState
from notebook_app.listing import EntryOrder, Listing
from notebook_app.public import Entry
from notebook_app.reading import entry_of
from notebook_app.search import matching
from reflection_app.core.models import Project
from reflection_app.loops.storable import Text, storable
from reflection_app.web.access import DeskRequest

LONGEST_SEARCH = 200
LONGEST_QUERY = 2_000
# Of what a search finds by the stems of its words, the best.
MOST_FOUND = 200
STALE_AFTER = timedelta(days=30)
# As owners are named in addresses; no user can be called so.
MINE, NOBODY = "@me", "@nobody"
Name = Annotated[Text, StringConstraints(strip_whitespace=True, max_length=LONGEST_SEARCH)]
SENTENCES: dict[str, Promise] = {
    "kind": gettext_lazy("Unknown entry kind."),
    "state": gettext_lazy("Unknown entry state."),
    "sort": gettext_lazy("Unknown sort order."),
    "flagged": gettext_lazy("The filter “flagged” must be 1 or empty."),
    "conflict": gettext_lazy("The filter “conflict” must be 1 or empty."),
    "owner": gettext_lazy("No member has this name."),
    "saved": gettext_lazy("Saved view not found."),
}


class NotebookFilter(BaseModel):
    """The fields of an address; an empty one asks for nothing."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    q: Name = ""
    kind: EntryKind | None = None
    state: EntryState | None = None
    category: Name = ""
    agent: Name = ""
    tag: Name = ""
    owner: Name = ""
    flagged: bool = False
    conflict: bool = False
    sort: EntryOrder | None = None
    # The saved view that all this came from: nothing is looked for by it.
    saved: UUID | None = None

    @property
    def is_narrowed(self) -> bool:
        """Whether it asks for more than an order."""
        return bool(self.model_dump(exclude={"sort", "saved"}, exclude_defaults=True))


@dataclass(frozen=True)
class AskedNotebook:
    """What was understood of an address, and a sentence for each field that was not."""

    filter: NotebookFilter
    errors: list[dict[str, str]] = field(default_factory=list)

    @property
    def query(self) -> str:
        return query_of(self.filter)

    def query_with(self, **changed: Any) -> str:
        """The query with other values of some fields."""
        return query_of(self.filter.model_copy(update=changed))


def read_notebook(data: Mapping[str, str]) -> AskedNotebook:
    """The filter of an address; what cannot be understood is left aside and told of."""
    given = {name: text for name in NotebookFilter.model_fields if (text := data.get(name, "").strip())}
    errors: list[dict[str, str]] = []
    while True:
        try:
            return AskedNotebook(NotebookFilter.model_validate(given), errors)
        except ValidationError as problem:
            for error in problem.errors(include_url=False, include_input=False):
                name = str(error["loc"][0])
                errors.append({"field": name, "message": _sentence(name)})
                given.pop(name, None)


def carried(request: DeskRequest) -> AskedNotebook:
    """The list that the reader came from, whose query forms carry along as one field."""
    text = request.POST.get("list") or request.GET.get("list") or ""
    return read_notebook(QueryDict(storable(text)[:LONGEST_QUERY]))


def query_of(wanted: NotebookFilter) -> str:
    """The filter as an address writes it, without what every address means anyway."""
    fields = wanted.model_dump(mode="json", exclude_defaults=True)
    return urlencode({name: "1" if value is True else str(value) for name, value in fields.items()})


def listing_of(
    asked: AskedNotebook, project: Project, *, user: User, states: tuple[EntryState, ...], order: EntryOrder
) -> Listing:
    """The entries that are asked for: of `states` unless the address names one, in `order` unless it names another."""
    wanted = asked.filter
    tags = (wanted.tag,) if wanted.tag else ()
    kinds = (wanted.kind,) if wanted.kind else ()
    among = EntryFilter(
        states=(wanted.state,) if wanted.state else states, kinds=kinds, category=wanted.category, tags=tags
    )
    found = matching(project.pk, wanted.q, among=among, limit=MOST_FOUND) if wanted.q else []
    owner_id = None
    if wanted.owner == MINE:
        owner_id = user.pk
    elif wanted.owner not in {"", NOBODY}:
        # Nobody has the id 0: of a name that is nobody's there are no entries.
        owners = project.memberships.filter(user__username=wanted.owner).values_list("user", flat=True)
        owner_id = owners.first() or 0
    return Listing(
        among=among,
        order=wanted.sort or order,
        words=wanted.q,
        ids=tuple(match.entry_id for match in found),
        agent=wanted.agent,
        owner_id=owner_id,
        is_unowned=wanted.owner == NOBODY,
        is_flagged=wanted.flagged,
        is_in_conflict=wanted.conflict,
    )


def stale_listing(project: Project) -> Listing:
    """The approved entries that nobody was given for a month, those longest approved first."""
    return Listing(order=EntryOrder.OLDEST, unused_since=timezone.now() - STALE_AFTER)


def _sentence(name: str) -> str:
    if name in SENTENCES:
        return str(SENTENCES[name])
    return _("Search text can have at most %(most)s characters.") % {"most": LONGEST_SEARCH}


# What the user did last in the notebook, kept in their session while it is fresh, for the key that takes it back.

KEY = "last_curation"
FRESH_S = 15 * 60
MOST_FAILED = 20


def remember_change(request: DeskRequest, entry: Entry, *, words: str) -> None:
    """Keeps that the user has just changed the entry into what it is."""
    _keep(request, words, entry_id=str(entry.id), name=entry.name, version=entry.version)


def remember_bulk(request: DeskRequest, bulk_id: object, *, words: str, failed: list[tuple[str, str]]) -> None:
    """Keeps that the user has just changed many together."""
    _keep(request, words, bulk_id=str(bulk_id), failed=failed[:MOST_FAILED])


def forget_last(request: DeskRequest) -> None:
    request.session.pop(KEY, None)


def last_curation(request: DeskRequest) -> dict[str, Any] | None:
    """The last change, as long as it is fresh, of this project, and nobody has changed the entry since.

    Its `words`, and of one entry `entry_id`, `name` and `version`, of many a `bulk_id` and those that `failed`.
    """
    last: Any = request.session.get(KEY)
    project = request.place.project
    if not isinstance(last, dict) or last["project"] != str(project.pk):
        return None
    if timezone.now().timestamp() - last["at"] > FRESH_S:
        return None
    if not last.get("entry_id"):
        return last
    entry = entry_of(project.pk, UUID(last["entry_id"]))
    return last if entry is not None and entry.version == last["version"] else None


def _keep(request: DeskRequest, words: str, **what: Any) -> None:
    kept = {"project": str(request.place.project.pk), "words": words, "at": timezone.now().timestamp()}
    request.session[KEY] = kept | what
