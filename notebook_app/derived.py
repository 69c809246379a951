"""What follows from an entry's words: what screening finds in them, and what it is searched by."""

from notebook_app.models import Entry
from notebook_app.search_index import search_of


def derive(entry: Entry) -> None:
    """Sets, without saving, what follows from the words; a curator's clearing held for the earlier ones."""
    entry.is_cleared = False
    entry.search = search_of(entry)
