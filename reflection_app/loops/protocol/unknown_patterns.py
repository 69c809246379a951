"""The form of the tables of words in which somebody says that he does not know."""

import re
from typing import NamedTuple

NEVER = r"(?!)"


class Words(NamedTuple):
    """Words that say so, unless `not_before` is found in the sentence before them or `not_after` follows at once."""

    says: re.Pattern[str]
    not_before: re.Pattern[str]
    not_after: re.Pattern[str]


def words(says: str, *, not_before: str = NEVER, not_after: str = NEVER) -> Words:
    return Words(*(re.compile(pattern, re.IGNORECASE) for pattern in (says, not_before, not_after)))
