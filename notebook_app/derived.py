"""What follows from an entry's words: what screening finds in them, and what it is searched by."""

from typing import Any

from notebook_app.kinds import words_of
from notebook_app.models import Entry
from notebook_app.screening import scan
from notebook_app.search_index import search_of
from notebook_app.steering import RULE
from notebook_app.words_changed import announce


def derive(entry: Entry) -> None:
    """Sets, without saving, what follows from the words; a curator's clearing held for the earlier ones.

    Once the change is committed, those who listen to `words_changed` are told.
    """
    entry.is_cleared = entry.is_compared = False
    entry.read_by_weights = 0
    entry.flags = flags_of(entry)
    entry.search = search_of(entry)
    announce(entry)


def flags_of(entry: Entry) -> list[dict[str, Any]]:
    """What screening finds in all that anybody may be told of the entry: in its words, and apart from them its labels.

    Read together, another tag would change what is quoted of the words, which a curator has cleared.
    """
    words = (entry.name, entry.description, entry.content, *words_of(entry.details))
    labels = (entry.agent, entry.category, *entry.tags)
    return [flag.as_json() for flag in (*scan(words), *scan(labels))]


def screen_labels(entry: Entry) -> None:
    """Sets, without saving, what is found now that its labels are others; nothing new leaves a clearing as it is."""
    # What the classifier found in the words is still there; with the labels it reads all once more.
    flags = [*flags_of(entry), *(flag for flag in entry.flags if flag["rule"] == RULE)]
    entry.read_by_weights = 0
    if any(flag not in entry.flags for flag in flags):
        entry.is_cleared = False
    entry.flags = flags
