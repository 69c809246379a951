"""How many values a JSON text has, told before it is read: two bytes of it may become a hundred in memory."""

import re

# More than honest bodies of the largest size have; so many are read and refused in a few tenths of a second.
MOST_VALUES = 200_000
# What each value but the first comes after, and what begins those that hold others.
MARKS = (b",", b"[", b"{")
# A string ends with the text where its quote is missing, so that no byte is looked at twice. Only marks are a group.
_STRING_OR_MARK = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|([,[{])', re.DOTALL)


def has_more_values(text: bytes, most: int = MOST_VALUES) -> bool:
    """Whether it has more values than this, a list or an object being one beside those in it.

    What stands in strings is none. A text that is no JSON has as many as it looks like.
    """
    if sum(text.count(mark) for mark in MARKS) <= most:
        return False
    marks = strings = 0
    for found in _STRING_OR_MARK.finditer(text):
        if found.lastindex:
            marks += 1
        else:
            strings += 1
        # Of a value there are two strings at most, with its key.
        if marks > most or strings > 2 * most + 2:
            return True
    return False
