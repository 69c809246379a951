"""What the user did last in the notebook, kept in their session while it is fresh, for the key that takes it back."""

from dataclasses import asdict, dataclass, field
from typing import Any

from django.utils import timezone

from notebook_app.public import KeptEntry, entry_of
from reflection_app.core.ids import id_from
from reflection_app.web.access import DeskRequest

KEY = "last_curation"
FRESH_S = 15 * 60
MOST_FAILED = 20


@dataclass(frozen=True)
class LastCuration:
    """One change of one entry, which was at `version` then, or many under a `bulk_id`; `words` say which."""

    project: str
    words: str
    at: float
    entry_id: str = ""
    name: str = ""
    version: int = 0
    bulk_id: str = ""
    # Of many together, the names of those that were refused, and why.
    failed: list[tuple[str, str]] = field(default_factory=list)


def remember_change(request: DeskRequest, entry: KeptEntry, *, words: str) -> None:
    """Keeps that the user has just changed the entry into what it is."""
    _keep(request, words, entry_id=str(entry.id), name=entry.name, version=entry.version)


def remember_bulk(request: DeskRequest, bulk_id: object, *, words: str, failed: list[tuple[str, str]]) -> None:
    """Keeps that the user has just changed many together."""
    _keep(request, words, bulk_id=str(bulk_id), failed=failed[:MOST_FAILED])


def forget_last(request: DeskRequest) -> None:
    request.session.pop(KEY, None)


def last_curation(request: DeskRequest) -> LastCuration | None:
    """The last change, as long as it is fresh, of this project, and nobody has changed the entry since."""
    kept: Any = request.session.get(KEY)
    if not isinstance(kept, dict):
        return None
    last = LastCuration(**kept)
    project = request.place.project
    if last.project != str(project.pk) or timezone.now().timestamp() - last.at > FRESH_S:
        return None
    entry_id = id_from(last.entry_id)
    if entry_id is None:
        return last
    entry = entry_of(project.pk, entry_id)
    return last if entry is not None and entry.version == last.version else None


def _keep(request: DeskRequest, words: str, **what: Any) -> None:
    now = timezone.now().timestamp()
    last = LastCuration(project=str(request.place.project.pk), words=words, at=now, **what)
    request.session[KEY] = asdict(last)
