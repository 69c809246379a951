"""What somebody typed, as the index of things is asked for it: exactly, as a beginning, by its words."""

import re
import unicodedata
from dataclasses import dataclass
from uuid import UUID

from notebook_app.public import LONGEST_WORD, quoted, stems_of
from reflection_app.core.ids import id_from
from reflection_app.loops.storable import storable
from reflection_app.search.models import Indexed

LONGEST_ASKED = 200
MOST_WORDS = 12
# Ids begin with the time they were made at: eight digits are a minute of it, and fewer would say nothing.
SHORTEST_ID = 8
ID_LENGTH = 32
# As the database splits texts (the migration of SearchRow).
UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
BETWEEN = "\u0000-\u002f\u003a-\u0060\u007b-\u00bf\u2000-\u206f\u3000-\u303f"
PIECE = re.compile(rf"[{UNSPACED}]+|[^{BETWEEN}{UNSPACED}]+")


@dataclass(frozen=True)
class Word:
    """A word that was asked for or begun; `is_whole` are two neighbours of what is written without spaces."""

    text: str
    stem: str = ""
    is_whole: bool = False


@dataclass(frozen=True)
class Asked:
    """Both as texts are kept: full-width forms made the usual ones, in lower case."""

    text: str
    words: tuple[Word, ...]

    def exactly(self, project_id: UUID, kind: Indexed) -> str:
        """The tsquery of what goes by this name; none of these has a meaning of the text's own in it."""
        return _lexeme(project_id, kind, f"={self.text}")

    def begun(self, project_id: UUID, kind: Indexed) -> str:
        """The tsquery of what goes by a name that begins so."""
        return f"{self.exactly(project_id, kind)}:*"

    def anyhow(self, project_id: UUID, kind: Indexed) -> str:
        """The tsquery of all that is found: by its name, or because it has all of the words, or begins of them."""
        every = " & ".join(self._having(word, project_id, kind) for word in self.words)
        begun = self.begun(project_id, kind)
        return f"{begun} | ({every})" if every else begun

    @staticmethod
    def _having(word: Word, project_id: UUID, kind: Indexed) -> str:
        lexeme = _lexeme(project_id, kind, word.text)
        if word.is_whole:
            return lexeme
        # A stem is kept by itself where it is another than the word.
        stems = [_lexeme(project_id, kind, kept) for kept in (word.stem, f"~{word.stem}")] if word.stem else []
        return f"({' | '.join([f'{lexeme}:*', *stems])})"

    @property
    def ids(self) -> tuple[UUID, UUID] | None:
        """The first and the last id that begins so; the same one where it is an id, None where it is no part of one."""
        digits = self.text.replace("-", "")
        if not SHORTEST_ID <= len(digits) <= ID_LENGTH or re.fullmatch("[0-9a-f]+", digits) is None:
            return None
        return UUID(digits.ljust(ID_LENGTH, "0")), UUID(digits.ljust(ID_LENGTH, "f"))


def read_asked(typed: str) -> Asked | None:
    """What is looked for; None where it is nothing. Whatever was typed is a text to look for, never syntax."""
    # Cut once more: a sign may stand for eighteen letters, and names are kept no longer than that either.
    text = unicodedata.normalize("NFKC", storable(typed.strip())[:LONGEST_ASKED]).lower().strip()[:LONGEST_ASKED]
    if not text:
        return None
    if id_from(text):
        # Whose parts are no words.
        return Asked(text, ())
    pieces = list(dict.fromkeys(PIECE.findall(text)))
    written = [piece for piece in pieces if not re.match(f"[{UNSPACED}]", piece)]
    stems = stems_of(written)
    # Words that say nothing, such as "the", are looked for where nothing else is.
    telling = [piece for piece in pieces if stems.get(piece, piece)] or pieces
    words: list[Word] = []
    for piece in telling:
        if piece not in stems:
            words += [Word(pair, is_whole=len(pair) > 1) for pair in _pairs(piece)]
        else:
            words.append(Word(piece[:LONGEST_WORD], stem=stems[piece][:LONGEST_WORD]))
    return Asked(text, tuple(dict.fromkeys(words))[:MOST_WORDS])


def _pairs(unspaced: str) -> list[str]:
    return [unspaced[at : at + 2] for at in range(len(unspaced) - 1)] or [unspaced]


def _lexeme(project_id: UUID, kind: Indexed, lexeme: str) -> str:
    return quoted(f"{project_id.hex[-6:]}{kind.value}{lexeme}")
