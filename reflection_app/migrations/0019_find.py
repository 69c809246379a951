import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.db.models.deletion
from django.db import migrations, models

# What a text is found by: its words in lower case, their English stems after a ~ where these differ, and of what is
# written without spaces each pair of neighbours and the last character. reflection_app/search/asking.py splits what is
# asked for in the same way. What stands between words is named by its code points, so that no locale has a say.
FUNCTIONS = r"""
CREATE FUNCTION desk_search_lexemes(said text) RETURNS SETOF text LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
  WITH cut AS (SELECT left(said, 4000) AS text),
  pieces AS (
    SELECT piece[1] AS unspaced, left(piece[2], 80) AS word
    FROM cut, regexp_matches(
      -- What is writtenLikeThis is found by its parts as well.
      lower(normalize(text || ' ' || coalesce((
        SELECT string_agg(regexp_replace(camel[1], '([a-z0-9])([A-Z])', '\1 \2', 'g'), ' ')
        FROM regexp_matches(text, '([A-Za-z0-9]*[a-z0-9][A-Z][A-Za-z0-9]*)', 'g') AS camel
      ), ''), NFKC)),
      '([\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+)'
      '|([^\u0001-\u002f\u003a-\u0060\u007b-\u00bf\u2000-\u206f\u3000-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+)',
      'g'
    ) AS piece
  ),
  words AS (SELECT DISTINCT word FROM pieces WHERE word <> ''),
  runs AS (SELECT DISTINCT unspaced FROM pieces WHERE unspaced <> '')
  SELECT word FROM words
  UNION ALL
  SELECT '~' || stem FROM (SELECT word, (ts_lexize('english_stem', word))[1] AS stem FROM words) AS stems
  WHERE stem <> '' AND stem <> word
  UNION ALL
  SELECT character || lead(character, 1, '') OVER (PARTITION BY unspaced ORDER BY place)
  FROM runs, string_to_table(unspaced, NULL) WITH ORDINALITY AS split(character, place)
$$;

-- Every lexeme begins with a mark of its project and of its table: the index keeps one list per lexeme, and a question
-- in a small project would else read through all that a large one has of the same word. A name by which the thing is
-- known, such as a ticket's, is kept whole besides, after a =.
CREATE FUNCTION desk_search_words(project uuid, kind text, names text[], said text) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT coalesce(array_to_tsvector(array_agg(DISTINCT right(project::text, 6) || kind || lexeme)), ''::tsvector)
  FROM (
    SELECT desk_search_lexemes(concat_ws(' ', array_to_string(names, ' '), said)) AS lexeme
    UNION ALL
    SELECT '=' || left(lower(normalize(name, NFKC)), 200) FROM unnest(names) AS name WHERE name <> ''
  ) AS lexemes
$$;

-- All texts in a JSON value.
CREATE FUNCTION desk_search_texts(value jsonb) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT string_agg(text #>> '{}', ' ') FROM jsonb_path_query(value, 'strict $.** ? (@.type() == "string")') AS text
$$;

CREATE FUNCTION desk_search_forget() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM reflection_app_searchrow WHERE id = OLD.id;
  RETURN NULL;
END $$;
"""
FUNCTIONS_BACK = """
DROP FUNCTION desk_search_forget();
DROP FUNCTION desk_search_texts(jsonb);
DROP FUNCTION desk_search_words(uuid, text, text[], text);
DROP FUNCTION desk_search_lexemes(text);
"""

# By table: its letter, the names by which a row is known, what it says, the columns of these, and which rows count.
TABLES = {
    "task": (
        "t",
        "ARRAY[{0}.external_id]",
        "concat_ws(' ', {0}.agent, {0}.kind, {0}.objective)",
        "external_id, objective, agent, kind",
        # What the desk does about other work, in which that work's words stand again.
        "{0}.mode NOT IN ('error_reflection', 'memory_reflection', 'merge_suggestion')",
    ),
    "ticket": (
        "k",
        "ARRAY[{0}.ticket_id]",
        "concat_ws(' ', {0}.target_agent, {0}.target_phase, desk_search_texts({0}.issues), {0}.closed_reason)",
        "ticket_id, target_agent, target_phase, issues, closed_reason",
        "true",
    ),
    "report": (
        "r",
        "ARRAY[{0}.reflection_id]",
        "concat_ws(' ', {0}.agent, {0}.surface_issue, desk_search_texts({0}.issues), desk_search_texts({0}.content))",
        "reflection_id, agent, surface_issue, issues, content",
        "true",
    ),
    "transcript": (
        "s",
        "ARRAY[{0}.external_id]",
        "concat_ws(' ', {0}.agent, {0}.objective)",
        "external_id, agent, objective",
        "true",
    ),
    "toolfailure": (
        "f",
        "ARRAY[{0}.tool, {0}.external_id]",
        "concat_ws(' ', {0}.agent, {0}.error_message, {0}.root_cause)",
        "tool, external_id, agent, error_message, root_cause",
        "true",
    ),
}


def kept(table):
    """The statements by which the rows of `table` are found from now on, and those that are there already."""
    letter, names, said, columns, counts = TABLES[table]
    row = f"{{0}}.id, {{0}}.project_id, '{letter}', desk_search_words({{0}}.project_id, '{letter}', {names}, {said}), {{0}}.created_at"
    return f"""
CREATE FUNCTION desk_search_{table}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO reflection_app_searchrow (id, project_id, kind, words, created_at)
  SELECT {row.format("NEW")} WHERE {counts.format("NEW")}
  ON CONFLICT (id) DO UPDATE SET words = EXCLUDED.words WHERE reflection_app_searchrow.words <> EXCLUDED.words;
  RETURN NULL;
END $$;
CREATE TRIGGER search_kept AFTER INSERT OR UPDATE OF {columns} ON reflection_app_{table}
FOR EACH ROW EXECUTE FUNCTION desk_search_{table}();
CREATE TRIGGER search_forgotten AFTER DELETE ON reflection_app_{table}
FOR EACH ROW EXECUTE FUNCTION desk_search_forget();
INSERT INTO reflection_app_searchrow (id, project_id, kind, words, created_at)
SELECT {row.format("one")} FROM reflection_app_{table} AS one WHERE {counts.format("one")};
"""


def no_longer_kept(table):
    return f"""
DROP TRIGGER search_kept ON reflection_app_{table};
DROP TRIGGER search_forgotten ON reflection_app_{table};
DROP FUNCTION desk_search_{table}();
"""


class Migration(migrations.Migration):
    dependencies = [("reflection_app", "0018_otel")]

    operations = [
        migrations.CreateModel(
            name="SearchRow",
            fields=[
                ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("t", "Task"),
                            ("k", "Ticket"),
                            ("r", "Report"),
                            ("s", "Session"),
                            ("f", "Failure"),
                        ],
                        max_length=1,
                    ),
                ),
                ("words", django.contrib.postgres.search.SearchVectorField()),
                ("created_at", models.DateTimeField()),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="reflection_app.project",
                    ),
                ),
            ],
        ),
        migrations.RunSQL(FUNCTIONS, FUNCTIONS_BACK),
        *(migrations.RunSQL(kept(table), no_longer_kept(table)) for table in TABLES),
        # Once the rows are there: one by one takes far longer.
        migrations.AddIndex(
            model_name="searchrow",
            index=models.Index(fields=["project", "kind", "-created_at", "-id"], name="search_newest"),
        ),
        migrations.AddIndex(
            model_name="searchrow",
            index=django.contrib.postgres.indexes.GinIndex(
                fastupdate=False, fields=["words"], name="search_words"
            ),
        ),
    ]
