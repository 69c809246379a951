"""Where in a produced file a fault is, in the words of the reader."""

import re

from django.utils.translation import gettext as _

PLACE = re.compile(r"(line|row|page|slide) (\d+)(?: (.+))?", re.DOTALL)


def place_in_words(place: str) -> str:
    """`line 3` as the reader's language has it; what is a name, as a cell or an entry is, as it is."""
    match = PLACE.fullmatch(place)
    if match is None:
        return place
    told, number, rest = match.groups()
    parts = {"number": number, "rest": rest}
    match told:
        case "line":
            return (_("line %(number)s, %(rest)s") if rest else _("line %(number)s")) % parts
        case "row":
            return (_("row %(number)s, %(rest)s") if rest else _("row %(number)s")) % parts
        case "page":
            return _("page %(number)s") % parts
    return _("slide %(number)s") % parts
