"""The notebook's tables. Import models from here."""

from notebook_app.models.conflict import Conflict, ConflictKind, ConflictState, Settlement
from notebook_app.models.embedding import Embedding, EmbeddingSpace, SpaceState
from notebook_app.models.entry import Entry, EntryVersion, Evidence, new_id
from notebook_app.models.exposure import Exposure
from notebook_app.models.import_batch import ImportBatch, ImportState

__all__ = [
    "Conflict",
    "ConflictKind",
    "ConflictState",
    "Embedding",
    "EmbeddingSpace",
    "Entry",
    "EntryVersion",
    "Evidence",
    "Exposure",
    "ImportBatch",
    "ImportState",
    "Settlement",
    "SpaceState",
    "new_id",
]
