"""Finding entries by words: what they are found by, how common words are, and those with the rarest first."""

import re
import time
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from math import log
from typing import Any
from uuid import UUID

from django.contrib.postgres.search import SearchQuery
from django.db import connection, transaction
from django.db.models import QuerySet

from notebook_app.compiled import Compiled, compiled
from notebook_app.entry_filter import EntryFilter
from notebook_app.identity import KEYED, text_key
from notebook_app.kinds import CJK, words_of
from notebook_app.models import Entry

# Which entries have the words of a question, those with the rarest words first.
#
# The best of what has several common words may be missed in a large project: only so many rows are looked at, those
# with rare words and with common ones together first.


# The words by which texts are found. Pure.
#
# Chinese is written without spaces and is found by pairs of characters; one character alone finds what holds it.
# Identifiers (search_flights, src/app.py, getUserProfile, HTTP 404) are found whole and by their parts.

# PostgreSQL's limit of a lexeme is 2 KB; nobody asks for a word of this length.
LONGEST_WORD = 80
RUN = re.compile(rf"[{CJK}]+|[^\W_{CJK}]+(?:[_./:@#+-]+[^\W_{CJK}]+)*")
JOINED = re.compile(r"[_./:@#+-]+")
# camelCase, HTTPServer and v2 in their parts.
PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")


@dataclass(frozen=True)
class Token:
    """One way in which a piece of a text is found. `is_word`: what is looked for is its stem.

    `start` and `end` are its place in the text as `plain` makes it.
    """

    text: str
    start: int
    end: int
    is_word: bool = False
    is_character: bool = False


def plain(text: str) -> str:
    """The text with full-width and other look-alike forms made the usual ones; letters keep their case."""
    return unicodedata.normalize("NFKC", text)


def tokens_of(text: str) -> Iterator[Token]:
    """All by which a text that `plain` has made is found, in order; what stands in it twice comes twice."""
    before: re.Match[str] | None = None
    for run in RUN.finditer(text):
        if run[0][0] > "\u3000" and re.match(f"[{CJK}]", run[0]):
            characters, start = run[0], run.start()
            for place, character in enumerate(characters):
                if place + 1 < len(characters):
                    yield Token(characters[place : place + 2], start + place, start + place + 2)
                yield Token(character, start + place, start + place + 1, is_character=True)
        else:
            yield from _written_words(run)
            if before is not None and _is_numbered(before, run, text):
                whole = f"{before[0]} {run[0]}".casefold()
                yield Token(whole[:LONGEST_WORD], before.start(), run.end())
        before = run


def _written_words(run: re.Match[str]) -> Iterator[Token]:
    """The parts of what is written without a space, and where there are several, the whole and a path's file."""
    parts = list(PART.finditer(run[0]))
    whole = run[0].casefold()
    if len(parts) <= 1 and not JOINED.search(run[0]):
        yield Token(whole[:LONGEST_WORD], run.start(), run.end(), is_word=not whole.isdigit())
        return
    yield Token(whole[:LONGEST_WORD], run.start(), run.end())
    file = run[0].rpartition("/")[2]
    if len(file) < len(run[0]) and "." in file[1:]:
        yield Token(file.casefold()[:LONGEST_WORD], run.end() - len(file), run.end())
    for part in parts:
        text = part[0].casefold()[:LONGEST_WORD]
        yield Token(text, run.start() + part.start(), run.start() + part.end(), is_word=not text.isdigit())


def _is_numbered(before: re.Match[str], run: re.Match[str], text: str) -> bool:
    """Whether it is a word and its number, such as HTTP 404."""
    return run[0].isdigit() and before[0].isalpha() and before[0].isascii() and text[before.end() : run.start()] == " "


# The stems of English words, as PostgreSQL's own dictionary makes them. Kept, since words come again and again.

MOST_KEPT = 100_000
_kept: dict[str, str] = {}


def stems_of(words: Iterable[str]) -> dict[str, str]:
    """Each word's stem; empty for those that say nothing by themselves, such as "the"."""
    wanted = set(words)
    found = {word: _kept[word] for word in wanted if word in _kept}
    if unknown := sorted(wanted - found.keys()):
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT word, COALESCE((ts_lexize('english_stem', word))[1], '') FROM unnest(%s::text[]) AS word",
                [unknown],
            )
            made = dict(cursor.fetchall())
        if len(_kept) + len(made) > MOST_KEPT:
            _kept.clear()
        _kept.update(made)
        found |= made
    return found


# What an entry is found by, as its column `search` holds it.
#
# Each lexeme begins with a mark of its project. The index keeps one list per lexeme: without the mark, a question in a
# small project would read through all that a large one has of the same word.

# Of so much of a field an entry is found; the rest is there to be read.
LONGEST_INDEXED = 6_000
# PostgreSQL's own limit of a position.
LAST_POSITION = 16_383
MOST_POSITIONS = 4
MARK_LENGTH = 6
BATCH = 500


def marked(project_id: UUID, lexeme: str) -> str:
    """The lexeme as the index has it. Two projects with one mark are told apart by their rows' project."""
    return project_id.hex[-MARK_LENGTH:] + lexeme


def quoted(lexeme: str) -> str:
    """The lexeme as PostgreSQL reads it in a tsvector or a tsquery."""
    return "'" + lexeme.replace("\\", "\\\\").replace("'", "''") + "'"


def lexemes_of(tokens: Sequence[Token]) -> list[str]:
    """What each token is looked for by; empty for words that say nothing."""
    stems = stems_of(token.text for token in tokens if token.is_word)
    return [stems[token.text] if token.is_word else token.text for token in tokens]


def search_of(entry: Entry) -> str:
    """The value of the entry's column `search`: its name weighs most, its labels least."""
    return _written(entry.project_id, {weight: list(tokens_of(text)) for weight, text in _fields(entry).items()})


def refresh_search(project_id: UUID | None = None) -> int:
    """Make entries findable, and known by their words, that were written straight into the table; return how many."""
    rows = Entry.objects.filter(search__isnull=True)
    if project_id is not None:
        rows = rows.filter(project_id=project_id)
    refreshed = 0
    while batch := _refresh_batch(rows.order_by("id").values_list("pk", flat=True)[:BATCH]):
        refreshed += batch
    return refreshed


@transaction.atomic
def _refresh_batch(ids: Iterable[UUID]) -> int:
    entries = list(
        Entry.objects.select_for_update(of=("self",), skip_locked=True)
        .filter(pk__in=list(ids), search__isnull=True)
        .order_by("id")
    )
    tokens = {entry.pk: {w: list(tokens_of(text)) for w, text in _fields(entry).items()} for entry in entries}
    # One question to the database for all of the words.
    stems_of(token.text for fields in tokens.values() for found in fields.values() for token in found if token.is_word)
    for entry in entries:
        entry.search = _written(entry.project_id, tokens[entry.pk])
        entry.text_key = text_key({name: getattr(entry, name) for name in KEYED})
    Entry.objects.bulk_update(entries, ["search", "text_key"])
    return len(entries)


def _fields(entry: Entry) -> dict[str, str]:
    texts = {
        "A": [entry.name],
        "B": [entry.description],
        "C": [entry.content, *words_of(entry.details)],
        "D": [entry.category, entry.agent, *entry.tags],
    }
    return {weight: plain("\n".join(some)[:LONGEST_INDEXED])[:LONGEST_INDEXED] for weight, some in texts.items()}


def _written(project_id: UUID, fields: dict[str, list[Token]]) -> str:
    positions: dict[str, list[str]] = defaultdict(list)
    place = 0
    for weight, tokens in fields.items():
        for token, lexeme in zip(tokens, lexemes_of(tokens), strict=True):
            if not lexeme:
                continue
            place = min(place + 1, LAST_POSITION)
            held = positions[lexeme]
            if not token.is_character and len(held) < MOST_POSITIONS:
                held.append(f"{place}{weight}")
    return " ".join(
        quoted(marked(project_id, lexeme)) + (":" + ",".join(dict.fromkeys(held)) if held else "")
        for lexeme, held in positions.items()
    )


# How common words are in a project: what few entries have tells more, and is quicker to look up.
#
# Counted over the newest entries, which is exact for a small project. Kept in this process for a while.

SAMPLE = 1_000
KEPT_FOR_S = 300.0
# A small project is counted quickly, and changes much with each entry.
SMALL_KEPT_FOR_S = 15.0
MOST_SHARES_KEPT = 100
COUNT = """
SELECT lexeme, count(*) FROM (
    SELECT search FROM notebook_app_entry WHERE project_id = %s AND search IS NOT NULL
    ORDER BY created_at DESC, id DESC LIMIT %s
) AS newest, unnest(tsvector_to_array(search)) AS lexeme
GROUP BY lexeme HAVING count(*) > 1
"""


@dataclass(frozen=True)
class WordShares:
    """How many of `looked_at` entries have each lexeme, where more than one has; the project has `total` entries."""

    counts: Mapping[str, int]
    looked_at: int
    total: int

    def share(self, lexeme: str) -> float:
        """Which part of the entries has it, rather too high than too low."""
        return self.counts.get(lexeme, 1) / max(1, self.looked_at)

    def weight(self, lexeme: str) -> float:
        """How much it tells that an entry has it (BM25's inverse document frequency)."""
        having = self.counts.get(lexeme, 1)
        return log(1 + (max(self.looked_at, having) - having + 0.5) / (having + 0.5))


_kept_shares: dict[UUID, tuple[float, WordShares]] = {}


def word_shares(project_id: UUID) -> WordShares:
    """The project's, a few minutes old at most."""
    found = _kept_shares.get(project_id)
    if found is not None and time.monotonic() < found[0]:
        return found[1]
    total = Entry.objects.filter(project_id=project_id).count()
    with connection.cursor() as cursor:
        cursor.execute(COUNT, [project_id, SAMPLE])
        counts = dict(cursor.fetchall())
    shares = WordShares(counts, looked_at=min(total, SAMPLE), total=total)
    while len(_kept_shares) >= MOST_SHARES_KEPT:
        _kept_shares.pop(next(iter(_kept_shares), project_id), None)
    kept_for_s = KEPT_FOR_S if shares.total > SAMPLE else SMALL_KEPT_FOR_S
    _kept_shares[project_id] = (time.monotonic() + kept_for_s, shares)
    return shares


LONGEST_READ = 4_000
# Words of a question that entries are ranked by.
MOST_WORDS = 20
# Rows that are looked at, as far as the words' shares tell beforehand, and at the very most.
MEANT_ROWS = 500
MOST_ROWS = 1_000
# Of common words, so many are looked up in pairs.
MOST_PAIRED = 6
MOST_TOLD = 8
# Of labels, contents, description and name, in PostgreSQL's order.
WEIGHTS = "{0.15, 0.5, 0.75, 1.0}"


@dataclass(frozen=True)
class Match:
    """An entry that has words of the question. `score`: their share of what all of the question's words weigh."""

    entry_id: UUID
    score: float
    words: tuple[str, ...]


@dataclass(frozen=True)
class Word:
    """A word of the question: what it is in the index, where the question has it, and how much it tells."""

    lexeme: str
    places: tuple[tuple[int, int], ...]
    weight: float


def matching(project_id: UUID, text: str, *, among: EntryFilter, limit: int) -> list[Match]:
    """The project's entries that have words of the text, best first; each with those words as the text has them."""
    asked = plain(text[:LONGEST_READ])[:LONGEST_READ]
    shares = word_shares(project_id)
    tokens = [token for token in tokens_of(asked) if _is_asked(token, asked)]
    words: dict[str, Word] = {}
    for token, lexeme in zip(tokens, lexemes_of(tokens), strict=True):
        if not lexeme:
            continue
        place = (token.start, token.end)
        known = words.get(lexeme)
        if known is not None:
            words[lexeme] = replace(known, places=(*known.places, place))
        else:
            name = marked(project_id, lexeme)
            words[lexeme] = Word(name, (place,), shares.weight(name))
    told = sorted(words.values(), key=lambda word: -word.weight)[:MOST_WORDS]
    if not told:
        return []
    total = sum(word.weight for word in told)
    found = []
    for entry_id, score, has in _ranked(project_id, told, shares, among=among, limit=limit):
        held = [word for word, is_there in zip(told, has, strict=True) if is_there]
        found.append(Match(entry_id, round(score / total, 6), _as_written(held, asked)))
    return found


def begun(project_id: UUID, text: str, *, among: EntryFilter, limit: int) -> list[UUID]:
    """The project's entries that have all words of the text, the last of which may be unfinished, newest first."""
    asked = plain(text[:LONGEST_READ])[:LONGEST_READ]
    tokens = [token for token in tokens_of(asked) if _is_asked(token, asked)]
    terms = []
    for token, lexeme in zip(tokens, lexemes_of(tokens), strict=True):
        term = quoted(marked(project_id, lexeme)) if lexeme else ""
        if token.is_word and token.end == len(asked.rstrip()):
            beginning = f"{quoted(marked(project_id, token.text))}:*"
            term = f"({term} | {beginning})" if term else beginning
        terms += [term] if term else []
    if not terms:
        return []
    rows = among.among(project_id).filter(search=Lexemes(" & ".join(terms[:MOST_WORDS]))).order_by()
    found = sorted(rows.values_list("created_at", "pk")[:MOST_ROWS], reverse=True)
    return [pk for _, pk in found[:limit]]


def _is_asked(token: Token, asked: str) -> bool:
    """Whether it is looked for: a single character is where it stands alone, for nearly all entries have any."""
    if not token.is_character:
        return True
    beside = asked[max(0, token.start - 1) : token.start] + asked[token.end : token.end + 1]
    return not any(first <= character <= last for character in beside for first, last in RANGES)


RANGES = [(CJK[place], CJK[place + 2]) for place in range(0, len(CJK), 3)]


@lru_cache
def _having(among: EntryFilter) -> Compiled[Any]:
    """Return the query of a project's entries that have lexemes, by a tsquery."""

    @compiled
    def rows(project_id: UUID, lexemes: str) -> QuerySet[Entry, Any]:
        return among.among(project_id).filter(search=Lexemes(lexemes)).order_by().values("pk", "search")[:MOST_ROWS]

    return rows


def _ranked(
    project_id: UUID, words: Sequence[Word], shares: WordShares, *, among: EntryFilter, limit: int
) -> list[tuple[UUID, float, list[bool]]]:
    """Ids, scores and which of the words they have, best first."""
    rows_sql, parameters = _having(among).statement(project_id, _looked_up(words, shares))
    ranks = ", ".join(f"ts_rank('{WEIGHTS}', search, %s::tsquery) AS r{n}" for n in range(len(words)))
    score = " + ".join(f"r{n} * %s" for n in range(len(words)))
    has = ", ".join(f"r{n} > 0" for n in range(len(words)))
    # The column is unpacked once a row (the empty tsvector is added for that), not once a word.
    sql = f"""
        WITH looked_at AS MATERIALIZED (SELECT pk, search || ''::tsvector AS search FROM ({rows_sql}) AS found)
        SELECT pk, {score} AS score, ARRAY[{has}]
        FROM (SELECT pk, {ranks} FROM looked_at OFFSET 0) AS ranked
        ORDER BY score DESC, pk LIMIT %s
    """  # noqa: S608 — made of nothing but numbers of words; what was asked goes in as parameters
    weights = [word.weight for word in words]
    queries = [quoted(word.lexeme) for word in words]
    with connection.cursor() as cursor:
        cursor.execute(sql, [*parameters, *weights, *queries, limit])
        return list(cursor.fetchall())


class Lexemes(SearchQuery):
    """A tsquery as it is, which PostgreSQL is not to split into words again."""

    function = None
    template = "%(expressions)s::tsquery"

    def __init__(self, query: str) -> None:
        super().__init__(query, search_type="raw")


def _looked_up(words: Sequence[Word], shares: WordShares) -> str:
    """The tsquery for about MEANT_ROWS rows: words as far as they are rare, then common ones in pairs and together."""
    # Words that are looked for together, and how many rows may have all of them.
    share = {word.lexeme: shares.share(word.lexeme) for word in words}
    terms = [(shares.total * share[word.lexeme], frozenset([word.lexeme])) for word in words]
    common = [word.lexeme for word in words if shares.total * share[word.lexeme] > MEANT_ROWS / 4][:MOST_PAIRED]
    for some in (*combinations(common, 2), *combinations(common, 3), *combinations(common, 4)):
        expected = float(shares.total)
        for lexeme in some:
            expected *= share[lexeme]
        # Words that belong together stand together far more often than chance would have it.
        terms.append((expected * 2, frozenset(some)))
    terms.sort(key=lambda term: term[0])
    taken, rows = [terms[0][1]], terms[0][0]
    for expected, lexemes in terms[1:]:
        rows += expected
        if rows > MEANT_ROWS:
            break
        taken.append(lexemes)
    # Whatever has all words of a term has those of a part of it: with both asked for, the index would go through dozens
    # of terms for each row that it finds, and find the same rows.
    parts = [term for term in taken if not any(other < term for other in taken)]
    return " | ".join("(" + " & ".join(map(quoted, sorted(term))) + ")" for term in parts)


def _as_written(words: Sequence[Word], asked: str) -> tuple[str, ...]:
    """The words as the question has them; Chinese pairs that overlap are one, and so are an identifier's parts."""
    places = sorted({place for word in words for place in word.places})
    joined: list[tuple[int, int]] = []
    for start, end in places:
        if joined and start < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    told: dict[str, tuple[str, float]] = {}
    for start, end in joined:
        weight = sum(word.weight for word in words if any(start <= place[0] < end for place in word.places))
        shown = asked[start:end]
        if told.get(shown.casefold(), ("", 0.0))[1] < weight:
            told[shown.casefold()] = (shown, weight)
    return tuple(shown for shown, _ in sorted(told.values(), key=lambda one: -one[1])[:MOST_TOLD])
