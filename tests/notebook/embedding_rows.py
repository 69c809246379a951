"""Entries and vectors for tests; the vectors are of a few numbers, so that what is near can be seen."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from notebook_app.curation import approve
from notebook_app.kinds import DESK, EntryKind
from notebook_app.meaning import Lacking, activate_space, keep_vectors, lacking_vectors, wanted_space
from notebook_app.models import EmbeddingSpace as Space
from notebook_app.models import Entry
from notebook_app.proposing import Proposal, keep


def kept(project_id: UUID, name: str, *, approved: bool = True, **fields: object) -> Entry:
    """A lesson of this name, approved."""
    entry = keep(project_id, Proposal(kind=EntryKind.LESSON, name=name, **fields)).entry  # type: ignore[arg-type]
    return approve(project_id, entry.pk, by=DESK) if approved else entry


def fill(space: Space, vectors: Mapping[str, Sequence[float] | None], *, otherwise: Sequence[float]) -> list[Lacking]:
    """Gives all that lack one the vector of their text's first line; what they were."""
    filled: list[Lacking] = []
    while waiting := lacking_vectors(space, limit=100):
        keep_vectors(space, [(one, vectors.get(one.text.splitlines()[0], otherwise)) for one in waiting])
        filled += waiting
    return filled


def active(vectors: Mapping[str, Sequence[float] | None], *, model: str = "house/a", dimensions: int = 3) -> Space:
    """The space of these vectors, which answers."""
    space = wanted_space(model, dimensions)
    fill(space, vectors, otherwise=[0.1] * dimensions)
    assert activate_space(space)
    return space
