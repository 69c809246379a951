"""What follows from an entry's words: what screening finds in them, and what it is searched by."""

from notebook_app.kinds import words_of
from notebook_app.models import Entry
from notebook_app.screening import scan
from notebook_app.search_index import search_of
from notebook_app.words_changed import announce


def derive(entry: Entry) -> None:
    """Sets, without saving, what follows from the words; a curator's clearing held for the earlier ones.

    Once the change is committed, those who listen to `words_changed` are told.
    """
    entry.is_cleared = entry.is_compared = False
    # Category and agent are told with an entry, but have no room for orders that the words would not show.
    entry.flags = [
        flag.as_json() for flag in scan([entry.name, entry.description, entry.content, *words_of(entry.details)])
    ]
    entry.search = search_of(entry)
    announce(entry)
