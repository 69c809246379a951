"""What an entry says, as the text that its meaning is taken from. Pure, but for the row that it reads."""

import hashlib

from notebook_app.kinds import words_of
from notebook_app.models import Entry

# A model's time grows with the text, and what an entry is about stands at its beginning.
MOST_TOKENS = 500
# Models cut English into pieces of about four letters, and most other writing into single characters.
LETTERS_PER_TOKEN = 4


def said_by(entry: Entry) -> str:
    """The name, the description, the content and the fields of its kind, as far as a model is given them."""
    parts = (entry.name, entry.description, entry.content, *words_of(entry.details))
    return opening("\n".join(part for part in parts if part), most_tokens=MOST_TOKENS)


def hash_of(text: str) -> str:
    """The same for the same text. 64 characters."""
    return hashlib.sha256(text.encode()).hexdigest()


def opening(text: str, *, most_tokens: int) -> str:
    """As much of the beginning as comes to about so many of a model's tokens."""
    text = text[: most_tokens * LETTERS_PER_TOKEN]
    left = most_tokens * LETTERS_PER_TOKEN
    for place, character in enumerate(text):
        left -= 1 if character.isascii() else LETTERS_PER_TOKEN
        if left < 0:
            return text[:place]
    return text
