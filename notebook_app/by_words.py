"""Which entries have the words of a question, those with the rarest words first.

The best of what has several common words may be missed in a large project: only so many rows are looked at, those with
rare words and with common ones together first.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from uuid import UUID

from django.contrib.postgres.search import SearchQuery
from django.db import connection

from notebook_app.entry_filter import EntryFilter
from notebook_app.search_index import lexemes_of, marked, quoted
from notebook_app.search_text import CJK, Token, plain, tokens_of
from notebook_app.word_shares import WordShares, word_shares

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
    words = _words(project_id, asked, shares)
    told = sorted(words, key=lambda word: -word.weight)[:MOST_WORDS]
    if not told:
        return []
    total = sum(word.weight for word in told)
    found = []
    for entry_id, score, has in _ranked(project_id, told, shares, among=among, limit=limit):
        held = [word for word, is_there in zip(told, has, strict=True) if is_there]
        found.append(Match(entry_id, round(score / total, 6), _as_written(held, asked)))
    return found


def _words(project_id: UUID, asked: str, shares: WordShares) -> list[Word]:
    tokens = [token for token in tokens_of(asked) if _is_asked(token, asked)]
    found: dict[str, Word] = {}
    for token, lexeme in zip(tokens, lexemes_of(tokens), strict=True):
        if not lexeme:
            continue
        place = (token.start, token.end)
        known = found.get(lexeme)
        if known is not None:
            found[lexeme] = replace(known, places=(*known.places, place))
        else:
            name = marked(project_id, lexeme)
            found[lexeme] = Word(name, (place,), shares.weight(name))
    return list(found.values())


def _is_asked(token: Token, asked: str) -> bool:
    """Whether it is looked for: a single character is where it stands alone, for nearly all entries have any."""
    if not token.is_character:
        return True
    beside = asked[max(0, token.start - 1) : token.start] + asked[token.end : token.end + 1]
    return not any(_is_cjk(character) for character in beside)


def _is_cjk(character: str) -> bool:
    return any(first <= character <= last for first, last in RANGES)


RANGES = [(CJK[place], CJK[place + 2]) for place in range(0, len(CJK), 3)]


def _ranked(
    project_id: UUID, words: Sequence[Word], shares: WordShares, *, among: EntryFilter, limit: int
) -> list[tuple[UUID, float, list[bool]]]:
    """Ids, scores and which of the words they have, best first."""
    rows = among.among(project_id).filter(search=Lexemes(_looked_up(words, shares))).order_by()
    rows_sql, parameters = rows.values("pk", "search")[:MOST_ROWS].query.sql_with_params()
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
    terms = sorted(_terms(words, shares), key=lambda term: term[0])
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


def _terms(words: Sequence[Word], shares: WordShares) -> Iterator[tuple[float, frozenset[str]]]:
    """Words that are looked for together, and how many rows may have all of them."""
    share = {word.lexeme: shares.share(word.lexeme) for word in words}
    for word in words:
        yield shares.total * share[word.lexeme], frozenset([word.lexeme])
    common = [word.lexeme for word in words if shares.total * share[word.lexeme] > MEANT_ROWS / 4][:MOST_PAIRED]
    for some in (*combinations(common, 2), *combinations(common, 3), *combinations(common, 4)):
        expected = float(shares.total)
        for lexeme in some:
            expected *= share[lexeme]
        # Words that belong together stand together far more often than chance would have it.
        yield expected * 2, frozenset(some)


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
