"""Names for what the desk issues: a word, the date, the time and chance, `rewind_20250220_143022_k3v9qd`.

The form of the design seed has no chance in it, and two names of the same second would be equal.
"""

import secrets
from datetime import datetime

from django.utils import timezone

# Without letters and digits that people mistake for one another.
ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"
RANDOM_CHARACTERS = 8


def named(word: str) -> tuple[str, datetime]:
    """A fresh name that begins with `word`, and the time in it, in UTC."""
    now = timezone.now()
    chance = "".join(secrets.choice(ALPHABET) for _ in range(RANDOM_CHARACTERS))
    return f"{word}_{now:%Y%m%d}_{now:%H%M%S}_{chance}", now
