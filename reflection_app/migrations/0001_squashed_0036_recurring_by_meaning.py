import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.db.models.deletion
import django.db.models.functions.text
import django.utils.timezone
import pgvector.django.halfvec
import reflection_app.core.ids
from django.conf import settings
from django.db import migrations, models

# The trail is held by the database itself, whatever code comes at it.
APPEND_ONLY = """
CREATE FUNCTION audit_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit trail is append-only: % is refused', TG_OP USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER audit_refuses_change BEFORE UPDATE OR DELETE ON reflection_app_auditentry
    FOR EACH ROW EXECUTE FUNCTION audit_is_append_only();
CREATE TRIGGER audit_refuses_truncate BEFORE TRUNCATE ON reflection_app_auditentry
    FOR EACH STATEMENT EXECUTE FUNCTION audit_is_append_only();
"""
CHANGEABLE = """
DROP TRIGGER audit_refuses_truncate ON reflection_app_auditentry;
DROP TRIGGER audit_refuses_change ON reflection_app_auditentry;
DROP FUNCTION audit_is_append_only();
"""

# The outbox: what a webhook is to be sent is written with the event itself, by whatever code writes events. For each
# statement and not for each row, because the runner writes several events at once.
PUT_OUT = """
CREATE FUNCTION reflection_app_put_out() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO reflection_app_delivery
    (id, webhook_id, project_id, event_id, type, state, tries, next_at, created_at)
  SELECT gen_random_uuid(), webhook.id, added.project_id, added.id, added.type, 'waiting', 0, now(), now()
  FROM added
  JOIN reflection_app_webhook webhook ON webhook.project_id = added.project_id
  WHERE webhook.is_enabled AND added.type = ANY(webhook.events)
  -- Who deletes the webhook waits for this transaction, whose commit would else fail for want of it.
  FOR KEY SHARE OF webhook;
  RETURN NULL;
END $$;
CREATE TRIGGER event_put_out AFTER INSERT ON reflection_app_event
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION reflection_app_put_out();
"""
PUT_NOTHING_OUT = """
DROP TRIGGER event_put_out ON reflection_app_event;
DROP FUNCTION reflection_app_put_out();
"""

# What a finished run counts for is worked out anew whenever it is new, goes on again or has another event, whatever code
# writes it. A run that is under way costs nothing but the look at its state.
WATCH = """
CREATE FUNCTION reflection_app_figure_due() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO reflection_app_figuredue (run_id) VALUES (NEW.id);
  RETURN NULL;
END $$;
CREATE TRIGGER run_figure_due_new AFTER INSERT ON reflection_app_run
  FOR EACH ROW WHEN (NEW.state = 'finished') EXECUTE FUNCTION reflection_app_figure_due();
CREATE TRIGGER run_figure_due AFTER UPDATE OF state, last_event_seq, llm_calls ON reflection_app_run
  FOR EACH ROW WHEN (NEW.state = 'finished' OR OLD.state = 'finished') EXECUTE FUNCTION reflection_app_figure_due();
"""
WATCH_NO_MORE = """
DROP TRIGGER run_figure_due_new ON reflection_app_run;
DROP TRIGGER run_figure_due ON reflection_app_run;
DROP FUNCTION reflection_app_figure_due();
"""

# What channels are to be told of is written with the thing itself, by whatever code writes it, as for webhooks. For each
# statement and not for each row, because the runner writes several events at once.
TELL_CHANNELS = """
CREATE FUNCTION reflection_app_tell_channels() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO reflection_app_channelitem (id, channel_id, project_id, topic, event_id, created_at)
  SELECT gen_random_uuid(), channel.id, told.project_id, told.topic, told.id, now()
  FROM (
    SELECT id, project_id, CASE type
      WHEN 'review.opened' THEN 'review' WHEN 'question.asked' THEN 'question' ELSE 'run_failed' END AS topic
    FROM added
    WHERE type IN ('review.opened', 'question.asked')
      OR type = 'run.finished' AND payload->>'outcome' IN ('failed', 'over_budget', 'timed_out')
  ) told
  JOIN reflection_app_channel channel ON channel.project_id = told.project_id
  WHERE channel.is_enabled AND told.topic = ANY(channel.topics)
  -- Who deletes the channel waits for this transaction, whose commit would else fail for want of it.
  FOR KEY SHARE OF channel;
  RETURN NULL;
END $$;
CREATE TRIGGER event_tell_channels AFTER INSERT ON reflection_app_event
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION reflection_app_tell_channels();

CREATE FUNCTION reflection_app_tell_channels_of_conflicts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO reflection_app_channelitem (id, channel_id, project_id, topic, about_id, created_at)
  SELECT gen_random_uuid(), channel.id, added.project_id, 'conflict', added.id, now()
  FROM added
  JOIN reflection_app_channel channel ON channel.project_id = added.project_id
  WHERE channel.is_enabled AND added.state = 'open' AND added.kind <> 'refinement' AND 'conflict' = ANY(channel.topics)
  FOR KEY SHARE OF channel;
  RETURN NULL;
END $$;
CREATE TRIGGER conflict_tell_channels AFTER INSERT ON notebook_app_conflict
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION reflection_app_tell_channels_of_conflicts();
"""
TELL_NO_CHANNELS = """
DROP TRIGGER event_tell_channels ON reflection_app_event;
DROP FUNCTION reflection_app_tell_channels();
DROP TRIGGER conflict_tell_channels ON notebook_app_conflict;
DROP FUNCTION reflection_app_tell_channels_of_conflicts();
"""

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
    """The statements by which search finds the rows of `table`."""
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
"""


def no_longer_kept(table):
    return f"""
DROP TRIGGER search_kept ON reflection_app_{table};
DROP TRIGGER search_forgotten ON reflection_app_{table};
DROP FUNCTION desk_search_{table}();
"""


class Migration(migrations.Migration):

    # Only the last is named: a database that stands there has nothing left to do. At an earlier one `migrate` ends at a
    # table that exists; were all named, it would say that nothing is to be done.
    replaces = [('reflection_app', '0036_recurring_by_meaning')]

    initial = True

    dependencies = [
        ('notebook_app', '0006_refining_conflicts'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='FigureDue',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('run_id', models.UUIDField()),
            ],
        ),
        migrations.CreateModel(
            name='Project',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('slug', models.SlugField(max_length=60, unique=True)),
                ('name', models.CharField(max_length=120)),
                ('limits', models.JSONField(blank=True, default=dict)),
                ('thresholds', models.JSONField(blank=True, default=dict)),
                ('review_policy', models.JSONField(blank=True, default=dict)),
                ('own_work', models.CharField(choices=[('nobody', 'Nobody'), ('people', 'People'), ('everybody', 'People and keys')], default='nobody', max_length=10)),
                ('models_by_role', models.JSONField(blank=True, default=dict)),
                ('completeness', models.JSONField(blank=True, default=dict)),
                ('completeness_by_kind', models.JSONField(blank=True, default=dict)),
                ('notebook', models.JSONField(blank=True, default=dict)),
                ('retention', models.JSONField(blank=True, default=dict)),
                ('waiting', models.JSONField(blank=True, default=dict)),
                ('deleted_at', models.DateTimeField(blank=True, null=True)),
                ('knowledge_tool', models.CharField(blank=True, default='', max_length=64)),
                ('is_demo', models.BooleanField(default=False, editable=False)),
                ('unique_external_ids', models.BooleanField(default=False)),
                ('allowed_models', models.JSONField(blank=True, default=list)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'ordering': ('name',),
                'constraints': [models.UniqueConstraint(condition=models.Q(('deleted_at__isnull', True), ('is_demo', True)), fields=('is_demo',), name='project_one_demo')],
            },
        ),
        migrations.CreateModel(
            name='LookBackDue',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('run_id', models.UUIDField()),
            ],
            options={
                'indexes': [models.Index(fields=['run_id'], name='look_back_of_run')],
            },
        ),
        migrations.CreateModel(
            name='Profile',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('language', models.CharField(blank=True, default='', max_length=10)),
                ('theme', models.CharField(blank=True, choices=[('light', 'Light'), ('dark', 'Dark')], default='', max_length=5)),
                ('wants_mail', models.BooleanField(default=True)),
                ('digest', models.CharField(blank=True, choices=[('daily', 'Daily'), ('weekly', 'Weekly')], default='', max_length=6)),
                ('must_change_password', models.BooleanField(default=False)),
                ('review_keys', models.JSONField(blank=True, default=dict)),
                ('user', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='profile', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='Attachment',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('sha256', models.CharField(max_length=64)),
                ('size', models.PositiveIntegerField()),
                ('media_type', models.CharField(max_length=60)),
                ('name', models.CharField(blank=True, default='', max_length=200)),
                ('claimed', models.CharField(blank=True, default='', max_length=200)),
                ('width', models.PositiveIntegerField(blank=True, null=True)),
                ('height', models.PositiveIntegerField(blank=True, null=True)),
                ('pages', models.PositiveIntegerField(blank=True, null=True)),
                ('content', models.BinaryField()),
                ('handed_in_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('project', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='attachments', to='reflection_app.project')),
            ],
            options={
                'base_manager_name': 'objects',
                'indexes': [models.Index(fields=['handed_in_at'], name='attachment_age')],
                'constraints': [models.UniqueConstraint(fields=('project', 'sha256'), name='attachment_once')],
            },
        ),
        migrations.CreateModel(
            name='DayCount',
            fields=[
                ('is_scripted', models.BooleanField(default=False)),
                ('agent', models.CharField(blank=True, default='', max_length=120)),
                ('mode', models.CharField(blank=True, default='', max_length=20)),
                ('model', models.CharField(blank=True, default='', max_length=200)),
                ('kind', models.CharField(blank=True, default='', max_length=60)),
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('day', models.DateField()),
                ('is_total', models.BooleanField()),
                ('family', models.CharField(max_length=20)),
                ('key', models.CharField(blank=True, max_length=200)),
                ('count', models.BigIntegerField()),
                ('project', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='reflection_app.project')),
            ],
            options={
                'indexes': [models.Index(fields=['project', 'is_total', 'is_scripted', 'day'], name='day_count')],
            },
        ),
        migrations.CreateModel(
            name='DayFigure',
            fields=[
                ('is_scripted', models.BooleanField(default=False)),
                ('agent', models.CharField(blank=True, default='', max_length=120)),
                ('mode', models.CharField(blank=True, default='', max_length=20)),
                ('model', models.CharField(blank=True, default='', max_length=200)),
                ('kind', models.CharField(blank=True, default='', max_length=60)),
                ('runs', models.BigIntegerField(default=0)),
                ('succeeded', models.BigIntegerField(default=0)),
                ('enabled', models.BigIntegerField(default=0)),
                ('enabled_first_succeeded', models.BigIntegerField(default=0)),
                ('enabled_first_failed', models.BigIntegerField(default=0)),
                ('enabled_succeeded', models.BigIntegerField(default=0)),
                ('improved', models.BigIntegerField(default=0)),
                ('told', models.BigIntegerField(default=0)),
                ('first_succeeded', models.BigIntegerField(default=0)),
                ('attempted', models.BigIntegerField(default=0)),
                ('attempts', models.BigIntegerField(default=0)),
                ('attempted_succeeded', models.BigIntegerField(default=0)),
                ('attempts_to_success', models.BigIntegerField(default=0)),
                ('cycle_ms', models.BigIntegerField(default=0)),
                ('reflections', models.BigIntegerField(default=0)),
                ('effective', models.BigIntegerField(default=0)),
                ('reflection_tokens', models.BigIntegerField(default=0)),
                ('scored_twice', models.BigIntegerField(default=0)),
                ('over_corrected', models.BigIntegerField(default=0)),
                ('passed_lowered', models.BigIntegerField(default=0)),
                ('checked', models.BigIntegerField(default=0)),
                ('checks_complete', models.BigIntegerField(default=0)),
                ('checks_incomplete', models.BigIntegerField(default=0)),
                ('checks_supplemented', models.BigIntegerField(default=0)),
                ('supplements', models.BigIntegerField(default=0)),
                ('exec_used', models.BigIntegerField(default=0)),
                ('exec_attempted', models.BigIntegerField(default=0)),
                ('exec_succeeded', models.BigIntegerField(default=0)),
                ('prompt_tokens', models.BigIntegerField(default=0)),
                ('completion_tokens', models.BigIntegerField(default=0)),
                ('cost_usd', models.DecimalField(decimal_places=8, default=0, max_digits=24)),
                ('llm_calls', models.BigIntegerField(default=0)),
                ('unpriced_calls', models.BigIntegerField(default=0)),
                ('counted_cost_usd', models.DecimalField(decimal_places=8, default=0, max_digits=24)),
                ('counted_unpriced_calls', models.BigIntegerField(default=0)),
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('day', models.DateField()),
                ('is_total', models.BooleanField()),
                ('project', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='reflection_app.project')),
            ],
            options={
                'indexes': [models.Index(fields=['project', 'is_total', 'is_scripted', 'day'], name='day_figure')],
            },
        ),
        migrations.CreateModel(
            name='DaySpend',
            fields=[
                ('is_scripted', models.BooleanField(default=False)),
                ('agent', models.CharField(blank=True, default='', max_length=120)),
                ('mode', models.CharField(blank=True, default='', max_length=20)),
                ('model', models.CharField(blank=True, default='', max_length=200)),
                ('kind', models.CharField(blank=True, default='', max_length=60)),
                ('role', models.CharField(blank=True, default='', max_length=40)),
                ('spent_on', models.CharField(blank=True, default='', max_length=200)),
                ('calls', models.BigIntegerField(default=0)),
                ('prompt_tokens', models.BigIntegerField(default=0)),
                ('completion_tokens', models.BigIntegerField(default=0)),
                ('cost_usd', models.DecimalField(decimal_places=8, default=0, max_digits=24)),
                ('unpriced_calls', models.BigIntegerField(default=0)),
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('day', models.DateField()),
                ('is_total', models.BooleanField()),
                ('project', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='reflection_app.project')),
            ],
            options={
                'indexes': [models.Index(fields=['project', 'is_total', 'is_scripted', 'day'], name='day_spend')],
            },
        ),
        migrations.CreateModel(
            name='FixPair',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('tool', models.CharField(max_length=200)),
                ('error_type', models.CharField(choices=[('parameter_error', 'parameter_error'), ('wrong_tool', 'wrong_tool'), ('permission_denied', 'permission_denied'), ('external_service_error', 'external_service_error')], max_length=30)),
                ('signature', models.CharField(max_length=300)),
                ('symptoms', models.JSONField(default=list)),
                ('fix', models.TextField()),
                ('action', models.JSONField()),
                ('digest', models.CharField(max_length=64)),
                ('learned', models.JSONField(default=list)),
                ('successes', models.PositiveIntegerField(default=0)),
                ('failures', models.PositiveIntegerField(default=0)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('last_worked_at', models.DateTimeField(blank=True, null=True)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='fix_pairs', to='reflection_app.project')),
            ],
            options={
                'ordering': ('tool', '-successes', 'id'),
                'constraints': [models.UniqueConstraint(fields=('project', 'tool', 'signature', 'error_type', 'digest'), name='fix_once')],
            },
        ),
        migrations.CreateModel(
            name='GuidelinesVersion',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('number', models.PositiveIntegerField()),
                ('text', models.TextField(blank=True)),
                ('note', models.TextField(blank=True, default='')),
                ('made_by_label', models.CharField(max_length=200)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='guidelines_versions', to='reflection_app.project')),
            ],
            options={
                'ordering': ('-number',),
                'constraints': [models.UniqueConstraint(fields=('project', 'number'), name='guidelines_number_once')],
            },
        ),
        migrations.CreateModel(
            name='JudgedItem',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('external_id', models.CharField(max_length=200)),
                ('content', models.TextField(blank=True, default='')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='judged_items', to='reflection_app.project')),
            ],
            options={
                'indexes': [models.Index(fields=['project', '-created_at', '-id'], name='judged_item_newest')],
                'constraints': [models.UniqueConstraint(fields=('project', 'external_id'), name='judged_item_once')],
            },
        ),
        migrations.CreateModel(
            name='JudgementImport',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(blank=True, default='', max_length=200)),
                ('by_label', models.CharField(max_length=200)),
                ('rows', models.JSONField(default=list)),
                ('outcome', models.JSONField(default=dict)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('applied_at', models.DateTimeField(blank=True, null=True)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='judgement_imports', to='reflection_app.project')),
            ],
            options={
                'ordering': ('-created_at', '-id'),
            },
        ),
        migrations.CreateModel(
            name='RefereeMeasurement',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=200)),
                ('figures', models.JSONField()),
                ('by_label', models.CharField(max_length=200)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='referee_measurements', to='reflection_app.project')),
            ],
            options={
                'ordering': ('-created_at', '-id'),
            },
        ),
        migrations.CreateModel(
            name='RetentionRun',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('by_label', models.CharField(max_length=200)),
                ('deleted', models.JSONField(default=dict)),
                ('started_at', models.DateTimeField(auto_now_add=True)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='retention_runs', to='reflection_app.project')),
            ],
            options={
                'ordering': ('-started_at', '-id'),
            },
        ),
        migrations.CreateModel(
            name='ReviewQueue',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=60)),
                ('position', models.PositiveIntegerField()),
                ('rule', models.JSONField(blank=True, default=dict)),
                ('skills', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=40), blank=True, default=list)),
                ('goal_minutes', models.PositiveIntegerField(blank=True, null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('deleted_at', models.DateTimeField(blank=True, null=True)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='review_queues', to='reflection_app.project')),
            ],
            options={
                'ordering': ('position', 'created_at', 'id'),
                'constraints': [models.UniqueConstraint(models.F('project'), django.db.models.functions.text.Lower('name'), condition=models.Q(('deleted_at__isnull', True)), name='queue_name_once')],
            },
        ),
        migrations.CreateModel(
            name='RubricVersion',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('number', models.PositiveIntegerField()),
                ('criteria', models.JSONField()),
                ('note', models.TextField(blank=True, default='')),
                ('made_by_label', models.CharField(max_length=200)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='rubric_versions', to='reflection_app.project')),
            ],
            options={
                'ordering': ('-number',),
                'constraints': [models.UniqueConstraint(fields=('project', 'number'), name='rubric_number_once')],
            },
        ),
        migrations.CreateModel(
            name='SavedView',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('list', models.CharField(choices=[('reviews', 'Reviews'), ('runs', 'Runs'), ('entries', 'Notebook'), ('sessions', 'Sessions')], max_length=10)),
                ('name', models.CharField(max_length=60)),
                ('query', models.CharField(blank=True, default='', max_length=2000)),
                ('created_by_label', models.CharField(blank=True, default='', max_length=200)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('owner', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='saved_views', to=settings.AUTH_USER_MODEL)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='saved_views', to='reflection_app.project')),
            ],
            options={
                'ordering': ('name', 'id'),
                'constraints': [models.UniqueConstraint(models.F('project'), django.db.models.functions.text.Lower('name'), condition=models.Q(('owner__isnull', True)), name='shared_view_name_once'), models.UniqueConstraint(models.F('project'), models.F('owner'), django.db.models.functions.text.Lower('name'), condition=models.Q(('owner__isnull', False)), name='own_view_name_once')],
            },
        ),
        migrations.CreateModel(
            name='SearchRow',
            fields=[
                ('id', models.UUIDField(editable=False, primary_key=True, serialize=False)),
                ('kind', models.CharField(choices=[('t', 'Task'), ('k', 'Ticket'), ('r', 'Report'), ('s', 'Session'), ('f', 'Failure')], max_length=1)),
                ('words', django.contrib.postgres.search.SearchVectorField()),
                ('created_at', models.DateTimeField()),
                ('project', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='reflection_app.project')),
            ],
            options={
                'indexes': [models.Index(fields=['project', 'kind', '-created_at', '-id'], name='search_newest'), django.contrib.postgres.indexes.GinIndex(fastupdate=False, fields=['words'], name='search_words')],
            },
        ),
        migrations.CreateModel(
            name='Secret',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=64)),
                ('origin', models.CharField(max_length=300)),
                ('ciphertext', models.TextField()),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='secrets', to='reflection_app.project')),
            ],
            options={
                'ordering': ('name',),
                'constraints': [models.UniqueConstraint(fields=('project', 'name'), name='secret_name_once')],
            },
        ),
        migrations.CreateModel(
            name='SupplementGroup',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('task_kind', models.CharField(blank=True, default='', max_length=60)),
                ('source', models.CharField(max_length=60)),
                ('vector', pgvector.django.halfvec.HalfVectorField(dimensions=384, null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='supplement_groups', to='reflection_app.project')),
            ],
            options={
                'ordering': ('created_at', 'id'),
                'indexes': [models.Index(fields=['project', 'task_kind', '-created_at'], name='supplement_group_of_kind')],
                'constraints': [models.UniqueConstraint(fields=('project', 'source'), name='supplement_group_once')],
            },
        ),
        migrations.CreateModel(
            name='Task',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('external_id', models.CharField(blank=True, max_length=200, null=True)),
                ('unique_external_id', models.CharField(blank=True, editable=False, max_length=200, null=True)),
                ('objective', models.TextField()),
                ('kind', models.CharField(blank=True, default='', max_length=60)),
                ('mode', models.CharField(max_length=20)),
                ('agent', models.CharField(blank=True, default='', max_length=120)),
                ('execution', models.CharField(choices=[('managed', 'managed'), ('external', 'external')], default='managed', max_length=10)),
                ('tests', models.JSONField(blank=True, null=True)),
                ('output_schema', models.JSONField(blank=True, null=True)),
                ('requirements', models.JSONField(blank=True, null=True)),
                ('phase', models.CharField(blank=True, default='', max_length=120)),
                ('tools', models.JSONField(blank=True, default=list)),
                ('tool_call', models.JSONField(blank=True, null=True)),
                ('reflection', models.CharField(blank=True, default='', max_length=8)),
                ('reflector_switches', models.JSONField(blank=True, default=dict)),
                ('chain_of_thought', models.BooleanField(default=False)),
                ('limits', models.JSONField(default=dict)),
                ('models_by_role', models.JSONField(blank=True, default=dict)),
                ('metadata', models.JSONField(blank=True, default=dict)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='tasks', to='reflection_app.project')),
            ],
            options={
                'indexes': [models.Index(fields=['project', '-created_at', '-id'], name='task_newest'), models.Index(fields=['project', 'external_id'], name='task_external_id')],
                'constraints': [models.UniqueConstraint(fields=('project', 'unique_external_id'), name='task_external_id_once')],
            },
        ),
        migrations.CreateModel(
            name='Tool',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=64)),
                ('description', models.TextField(blank=True, default='')),
                ('parameters', models.JSONField(blank=True, default=dict)),
                ('kind', models.CharField(choices=[('http', 'HTTP'), ('mcp', 'MCP server'), ('builtin', 'Built in')], max_length=10)),
                ('config', models.JSONField(blank=True, default=dict)),
                ('timeout_s', models.FloatField(default=10.0)),
                ('is_enabled', models.BooleanField(default=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='tools', to='reflection_app.project')),
            ],
            options={
                'ordering': ('name',),
                'constraints': [models.UniqueConstraint(fields=('project', 'name'), name='tool_name_once')],
            },
        ),
        migrations.CreateModel(
            name='Webhook',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('url', models.TextField()),
                ('description', models.CharField(blank=True, default='', max_length=200)),
                ('events', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=30))),
                ('ciphertext', models.TextField(help_text='the secret that signs, encrypted')),
                ('former_ciphertext', models.TextField(blank=True, default='')),
                ('former_until', models.DateTimeField(blank=True, null=True)),
                ('is_enabled', models.BooleanField(default=True)),
                ('paused_at', models.DateTimeField(blank=True, null=True)),
                ('pause_reason', models.TextField(blank=True, default='')),
                ('failing_since', models.DateTimeField(blank=True, null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='webhooks', to='reflection_app.project')),
            ],
            options={
                'ordering': ('created_at', 'id'),
            },
        ),
        migrations.CreateModel(
            name='ApiKey',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=120)),
                ('hint', models.CharField(help_text='the first characters, so that people can tell keys apart', max_length=12)),
                ('digest', models.CharField(max_length=64, unique=True)),
                ('scopes', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('tasks:write', 'Tasks Write'), ('runs:read', 'Runs Read'), ('reviews:write', 'Reviews Write'), ('notebook:read', 'Notebook Read'), ('notebook:write', 'Notebook Write'), ('metrics:read', 'Metrics Read'), ('admin', 'Admin')], max_length=20))),
                ('created_by_label', models.CharField(blank=True, default='', max_length=200)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('expires_at', models.DateTimeField(blank=True, null=True)),
                ('last_used_at', models.DateTimeField(blank=True, null=True)),
                ('revoked_at', models.DateTimeField(blank=True, null=True)),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='api_keys', to='reflection_app.project')),
            ],
            options={
                'ordering': ('-created_at',),
            },
        ),
        migrations.CreateModel(
            name='AuditEntry',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('actor_label', models.CharField(max_length=200)),
                ('api_key_id', models.UUIDField(null=True)),
                ('action', models.CharField(max_length=60)),
                ('target', models.CharField(max_length=60)),
                ('target_id', models.UUIDField()),
                ('before', models.JSONField(default=dict)),
                ('after', models.JSONField(default=dict)),
                ('address', models.GenericIPAddressField(null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('user', models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('project', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='audit_entries', to='reflection_app.project')),
            ],
            options={
                'indexes': [models.Index(fields=['project', '-created_at', '-id'], name='audit_newest'), models.Index(fields=['project', 'actor_label', '-created_at', '-id'], name='audit_by_actor'), models.Index(fields=['project', 'action', '-created_at', '-id'], name='audit_by_action'), models.Index(fields=['target_id', '-created_at', '-id'], name='audit_of_target')],
            },
        ),
        migrations.CreateModel(
            name='Channel',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('kind', models.CharField(choices=[('slack', 'Slack'), ('teams', 'Microsoft Teams'), ('feishu', 'Feishu / Lark'), ('dingtalk', 'DingTalk'), ('wecom', 'WeCom')], max_length=8)),
                ('name', models.CharField(max_length=80)),
                ('ciphertext', models.TextField()),
                ('host', models.CharField(max_length=300)),
                ('has_secret', models.BooleanField(default=False)),
                ('topics', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=10))),
                ('language', models.CharField(default='en', max_length=10)),
                ('quiet_from', models.TimeField(blank=True, null=True)),
                ('quiet_until', models.TimeField(blank=True, null=True)),
                ('is_enabled', models.BooleanField(default=True)),
                ('off_reason', models.TextField(blank=True, default='')),
                ('failing_since', models.DateTimeField(blank=True, null=True)),
                ('rest_until', models.DateTimeField(blank=True, null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='channels', to='reflection_app.project')),
            ],
            options={
                'ordering': ('created_at', 'id'),
                'constraints': [models.UniqueConstraint(fields=('project', 'name'), name='channel_name_once')],
            },
        ),
        migrations.CreateModel(
            name='CheckSuggestion',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('task_kind', models.CharField(max_length=60)),
                ('why', models.CharField(max_length=24)),
                ('change', models.JSONField()),
                ('evidence', models.JSONField()),
                ('state', models.CharField(choices=[('open', 'Open'), ('accepted', 'Accepted'), ('declined', 'Declined'), ('withdrawn', 'Withdrawn')], default='open', max_length=10)),
                ('decided_by_label', models.CharField(blank=True, default='', max_length=200)),
                ('decided_at', models.DateTimeField(blank=True, null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('decided_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='check_suggestions', to='reflection_app.project')),
            ],
            options={
                'ordering': ('-created_at', '-id'),
                'indexes': [models.Index(fields=['project', '-created_at', '-id'], name='check_suggestion_newest')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('state', 'open')), fields=('project', 'task_kind'), name='check_suggestion_once')],
            },
        ),
        migrations.CreateModel(
            name='Comment',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('about', models.CharField(choices=[('review', 'Review'), ('run', 'Run'), ('entry', 'Notebook entry')], max_length=8)),
                ('about_id', models.UUIDField()),
                ('author_label', models.CharField(max_length=200)),
                ('text', models.TextField()),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('edited_at', models.DateTimeField(blank=True, null=True)),
                ('deleted_at', models.DateTimeField(blank=True, null=True)),
                ('author', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='comments', to=settings.AUTH_USER_MODEL)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='comments', to='reflection_app.project')),
            ],
            options={
                'ordering': ('created_at', 'id'),
                'indexes': [models.Index(fields=['about', 'about_id', 'created_at'], name='comment_about')],
            },
        ),
        migrations.CreateModel(
            name='ComparisonSet',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=120)),
                ('wanted', models.PositiveSmallIntegerField(default=1)),
                ('chosen', models.JSONField(blank=True, default=dict)),
                ('created_by_label', models.CharField(blank=True, default='', max_length=200)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('closed_at', models.DateTimeField(blank=True, null=True)),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='comparison_sets', to=settings.AUTH_USER_MODEL)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='comparison_sets', to='reflection_app.project')),
            ],
            options={
                'indexes': [models.Index(fields=['project', '-created_at', '-id'], name='comparison_set_newest')],
            },
        ),
        migrations.CreateModel(
            name='Dashboard',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('owner_label', models.CharField(max_length=200)),
                ('name', models.CharField(max_length=80)),
                ('is_shared', models.BooleanField(default=False)),
                ('tiles', models.JSONField(default=list)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('owner', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='dashboards', to=settings.AUTH_USER_MODEL)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='dashboards', to='reflection_app.project')),
            ],
            options={
                'ordering': ('name', 'id'),
                'constraints': [models.UniqueConstraint(fields=('project', 'owner', 'name'), name='dashboard_name_once')],
            },
        ),
        migrations.CreateModel(
            name='DigestLetter',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('period', models.CharField(choices=[('daily', 'Daily'), ('weekly', 'Weekly')], max_length=6)),
                ('day', models.DateField()),
                ('is_empty', models.BooleanField(default=False)),
                ('failures', models.PositiveSmallIntegerField(default=0)),
                ('lease_until', models.DateTimeField(blank=True, null=True)),
                ('sent_at', models.DateTimeField(blank=True, null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='reflection_app.project')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('project', 'user', 'period', 'day'), name='digest_letter_once')],
            },
        ),
        migrations.CreateModel(
            name='QueueMember',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='review_queues', to=settings.AUTH_USER_MODEL)),
                ('queue', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='members', to='reflection_app.reviewqueue')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('queue', 'user'), name='queue_member_once')],
            },
        ),
        migrations.CreateModel(
            name='RenderedPage',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('page', models.PositiveIntegerField()),
                ('max_side_px', models.PositiveIntegerField()),
                ('width', models.PositiveIntegerField()),
                ('height', models.PositiveIntegerField()),
                ('content', models.BinaryField()),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('attachment', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='rendered_pages', to='reflection_app.attachment')),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='rendered_pages', to='reflection_app.project')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('attachment', 'page', 'max_side_px'), name='rendered_page_once')],
            },
        ),
        migrations.CreateModel(
            name='TaskFile',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('path', models.CharField(max_length=400)),
                ('content', models.TextField(blank=True)),
                ('task', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='files', to='reflection_app.task')),
            ],
            options={
                'ordering': ('path',),
                'constraints': [models.UniqueConstraint(fields=('task', 'path'), name='task_file_once')],
            },
        ),
        migrations.CreateModel(
            name='ViewPin',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='pinned_views', to=settings.AUTH_USER_MODEL)),
                ('view', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='pins', to='reflection_app.savedview')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('user', 'view'), name='pin_once')],
            },
        ),
        migrations.CreateModel(
            name='BulkDecision',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('user_label', models.CharField(max_length=200)),
                ('address', models.GenericIPAddressField(null=True)),
                ('language', models.CharField(default='en', max_length=10)),
                ('decision', models.JSONField()),
                ('state', models.CharField(choices=[('running', 'Running'), ('done', 'Done'), ('undoing', 'Undoing'), ('undone', 'Undone')], default='running', max_length=8)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('api_key', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='bulk_decisions', to='reflection_app.apikey')),
                ('user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='bulk_decisions', to=settings.AUTH_USER_MODEL)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='bulk_decisions', to='reflection_app.project')),
            ],
            options={
                'indexes': [models.Index(fields=['project', '-created_at', '-id'], name='bulk_newest')],
            },
        ),
        migrations.CreateModel(
            name='ChannelMessage',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('is_test', models.BooleanField(default=False)),
                ('text', models.TextField(blank=True, default='')),
                ('state', models.CharField(choices=[('waiting', 'Waiting'), ('delivered', 'Delivered'), ('given_up', 'Given up'), ('obsolete', 'Obsolete')], default='waiting', max_length=10)),
                ('tries', models.PositiveSmallIntegerField(default=0)),
                ('losses', models.PositiveSmallIntegerField(default=0)),
                ('next_at', models.DateTimeField(blank=True, null=True)),
                ('lease_until', models.DateTimeField(blank=True, null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('delivered_at', models.DateTimeField(blank=True, null=True)),
                ('channel', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='messages', to='reflection_app.channel')),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='reflection_app.project')),
            ],
            options={
                'indexes': [models.Index(fields=['channel', '-created_at', '-id'], name='channel_message_newest')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('is_test', False), ('state', 'waiting')), fields=('channel',), name='channel_message_waits_once')],
            },
        ),
        migrations.CreateModel(
            name='IdempotentAnswer',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(max_length=200)),
                ('fingerprint', models.CharField(help_text='hash of method, path and body', max_length=64)),
                ('status', models.PositiveSmallIntegerField(null=True)),
                ('body', models.JSONField(null=True)),
                ('etag', models.CharField(blank=True, default='', max_length=40)),
                ('created_at', models.DateTimeField(auto_now_add=True, db_index=True)),
                ('api_key', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='reflection_app.apikey')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('api_key', 'key'), name='idempotency_key_once')],
            },
        ),
        migrations.CreateModel(
            name='Invitation',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('role', models.CharField(choices=[('viewer', 'Viewer'), ('reviewer', 'Reviewer'), ('curator', 'Curator'), ('admin', 'Admin')], default='reviewer', max_length=10)),
                ('email', models.EmailField(blank=True, default='', max_length=254)),
                ('digest', models.CharField(max_length=64, unique=True)),
                ('created_by_label', models.CharField(max_length=200)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('expires_at', models.DateTimeField()),
                ('accepted_at', models.DateTimeField(blank=True, null=True)),
                ('revoked_at', models.DateTimeField(blank=True, null=True)),
                ('accepted_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='invitations_accepted', to=settings.AUTH_USER_MODEL)),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='invitations_made', to=settings.AUTH_USER_MODEL)),
                ('created_by_key', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='invitations_made', to='reflection_app.apikey')),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='invitations', to='reflection_app.project')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('accepted_at__isnull', True), ('revoked_at__isnull', True)), fields=['project', '-created_at'], name='invitation_open')],
            },
        ),
        migrations.CreateModel(
            name='CriticJudgement',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('model', models.CharField(max_length=200)),
                ('prompt_version', models.CharField(blank=True, default='', max_length=40)),
                ('verdict', models.CharField(choices=[('PASS', 'PASS'), ('REVISE', 'REVISE'), ('REJECT', 'REJECT')], max_length=8)),
                ('confidence', models.FloatField(blank=True, null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('item', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='critic_judgements', to='reflection_app.judgeditem')),
                ('batch', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='judgements', to='reflection_app.judgementimport')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('item', 'model', 'prompt_version'), name='critic_judgement_once')],
            },
        ),
        migrations.CreateModel(
            name='Membership',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('role', models.CharField(choices=[('viewer', 'Viewer'), ('reviewer', 'Reviewer'), ('curator', 'Curator'), ('admin', 'Admin')], default='reviewer', max_length=10)),
                ('skills', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=40), blank=True, default=list)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('invited_by_key', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='brought_members', to='reflection_app.apikey')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to=settings.AUTH_USER_MODEL)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to='reflection_app.project')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('project', 'user'), name='membership_once')],
            },
        ),
        migrations.CreateModel(
            name='Notification',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('kind', models.CharField(choices=[('mentioned', 'Mentioned'), ('commented', 'Commented on'), ('assigned', 'Assigned'), ('handed_over', 'Handed over'), ('adjudication', 'Opinions differ'), ('decision_undone', 'Decision taken back'), ('webhook_paused', 'Webhook paused'), ('webhook_gone', 'Webhook switched off'), ('channel_off', 'Channel switched off'), ('overdue', 'Overdue'), ('checks_suggested', 'Checks suggested')], max_length=16)),
                ('facts', models.JSONField(default=dict)),
                ('about', models.CharField(choices=[('review', 'Review'), ('run', 'Run'), ('entry', 'Notebook entry'), ('webhook', 'Webhook'), ('channel', 'Channel'), ('question', 'Question'), ('checks', 'Completeness checks')], max_length=8)),
                ('about_id', models.UUIDField()),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('read_at', models.DateTimeField(blank=True, null=True)),
                ('mailed_at', models.DateTimeField(blank=True, null=True)),
                ('mail_failures', models.PositiveSmallIntegerField(default=0)),
                ('comment', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='notifications', to='reflection_app.comment')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='notifications', to=settings.AUTH_USER_MODEL)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='notifications', to='reflection_app.project')),
            ],
            options={
                'indexes': [models.Index(fields=['user', '-created_at', '-id'], name='notification_newest'), models.Index(condition=models.Q(('read_at__isnull', True)), fields=['user', 'project'], name='notification_unread'), models.Index(condition=models.Q(('mailed_at__isnull', True)), fields=['created_at'], name='notification_unmailed')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('comment__isnull', False)), fields=('user', 'comment', 'kind'), name='told_of_comment_once')],
            },
        ),
        migrations.CreateModel(
            name='PersonsJudgement',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=200)),
                ('verdict', models.CharField(choices=[('PASS', 'PASS'), ('REVISE', 'REVISE'), ('REJECT', 'REJECT')], max_length=8)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('item', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='persons_judgements', to='reflection_app.judgeditem')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('item', 'name'), name='persons_judgement_once')],
            },
        ),
        migrations.CreateModel(
            name='ChannelTry',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('number', models.PositiveSmallIntegerField()),
                ('status', models.PositiveSmallIntegerField(blank=True, null=True)),
                ('answer', models.TextField(blank=True, default='')),
                ('error', models.TextField(blank=True, default='')),
                ('duration_s', models.FloatField(default=0.0)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('message', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='log', to='reflection_app.channelmessage')),
            ],
            options={
                'ordering': ('number',),
                'constraints': [models.UniqueConstraint(fields=('message', 'number'), name='channel_try_once')],
            },
        ),
        migrations.CreateModel(
            name='Run',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('mode', models.CharField(choices=[('adaptive', 'adaptive'), ('external_loop', 'external_loop'), ('actor_critic', 'actor_critic'), ('reflexion', 'reflexion'), ('planning', 'planning'), ('inline_reflection', 'inline_reflection'), ('reflection_protocol', 'reflection_protocol'), ('tool_diagnosis', 'tool_diagnosis'), ('completeness_check', 'completeness_check'), ('error_reflection', 'error_reflection'), ('memory_reflection', 'memory_reflection'), ('merge_suggestion', 'merge_suggestion')], max_length=20)),
                ('state', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('waiting_review', 'Waiting for review'), ('waiting_agent', 'Waiting for the agent'), ('waiting_time', 'Waiting'), ('finished', 'Finished')], default='queued', max_length=16)),
                ('outcome', models.CharField(blank=True, choices=[('succeeded', 'succeeded'), ('unverified', 'unverified'), ('exhausted', 'exhausted'), ('over_budget', 'over_budget'), ('timed_out', 'timed_out'), ('over_corrected', 'over_corrected'), ('rejected', 'rejected'), ('cancelled', 'cancelled'), ('failed', 'failed')], max_length=16, null=True)),
                ('waiting_for', models.CharField(blank=True, default='', max_length=40)),
                ('error', models.TextField(blank=True, default='')),
                ('spec', models.JSONField()),
                ('loop_version', models.PositiveIntegerField()),
                ('prompt_versions', models.JSONField(default=dict)),
                ('is_scripted', models.BooleanField(default=False)),
                ('attempts_made', models.PositiveIntegerField(default=0)),
                ('prompt_tokens', models.PositiveBigIntegerField(default=0)),
                ('completion_tokens', models.PositiveBigIntegerField(default=0)),
                ('cost_usd', models.DecimalField(decimal_places=8, default=0, max_digits=16)),
                ('llm_calls', models.PositiveIntegerField(default=0)),
                ('estimated_tokens', models.PositiveBigIntegerField(default=0)),
                ('cached_tokens', models.PositiveBigIntegerField(blank=True, null=True)),
                ('reasoning_tokens', models.PositiveBigIntegerField(blank=True, null=True)),
                ('unpriced_calls', models.PositiveIntegerField(default=0)),
                ('unmetered_calls', models.PositiveIntegerField(default=0)),
                ('active_s', models.FloatField(default=0.0)),
                ('lease_token', models.UUIDField(blank=True, null=True)),
                ('lease_until', models.DateTimeField(blank=True, null=True)),
                ('failures', models.PositiveSmallIntegerField(default=0)),
                ('asked_waits', models.PositiveSmallIntegerField(default=0)),
                ('asked_wait_s', models.FloatField(default=0.0)),
                ('worker_deaths', models.PositiveSmallIntegerField(default=0)),
                ('enqueued_at', models.DateTimeField(blank=True, null=True)),
                ('not_before', models.DateTimeField(blank=True, null=True)),
                ('last_event_seq', models.PositiveIntegerField(default=0)),
                ('told_seq', models.PositiveIntegerField(default=0)),
                ('forked_from_step', models.PositiveIntegerField(blank=True, null=True)),
                ('fork_note', models.TextField(blank=True, default='')),
                ('forked_by_label', models.CharField(blank=True, default='', max_length=200)),
                ('handed_in_by', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=40), blank=True, default=list)),
                ('edited_prompts', models.JSONField(blank=True, default=dict)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('started_at', models.DateTimeField(blank=True, null=True)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('parent', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='forks', to='reflection_app.run')),
                ('project', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='runs', to='reflection_app.project')),
                ('task', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='runs', to='reflection_app.task')),
            ],
            options={
                'indexes': [models.Index(fields=['project', '-created_at', '-id'], name='run_newest'), models.Index(fields=['task', '-created_at'], name='run_of_task'), models.Index(condition=models.Q(('state', 'finished')), fields=['project', '-finished_at', '-id'], name='run_ended'), models.Index(condition=models.Q(('state', 'finished'), _negated=True), fields=['project', '-created_at', '-id'], name='run_unfinished'), models.Index(condition=models.Q(('state', 'running')), fields=['lease_until'], name='run_lease'), models.Index(condition=models.Q(('state__in', ('queued', 'waiting_time'))), fields=['enqueued_at'], name='run_enqueued')],
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('outcome__isnull', False), ('state', 'finished')), models.Q(models.Q(('state', 'finished'), _negated=True), ('outcome__isnull', True)), _connector='OR'), name='run_outcome_when_finished')],
            },
        ),
        migrations.CreateModel(
            name='RunFigure',
            fields=[
                ('is_scripted', models.BooleanField(default=False)),
                ('agent', models.CharField(blank=True, default='', max_length=120)),
                ('mode', models.CharField(blank=True, default='', max_length=20)),
                ('model', models.CharField(blank=True, default='', max_length=200)),
                ('kind', models.CharField(blank=True, default='', max_length=60)),
                ('runs', models.BigIntegerField(default=0)),
                ('succeeded', models.BigIntegerField(default=0)),
                ('enabled', models.BigIntegerField(default=0)),
                ('enabled_first_succeeded', models.BigIntegerField(default=0)),
                ('enabled_first_failed', models.BigIntegerField(default=0)),
                ('enabled_succeeded', models.BigIntegerField(default=0)),
                ('improved', models.BigIntegerField(default=0)),
                ('told', models.BigIntegerField(default=0)),
                ('first_succeeded', models.BigIntegerField(default=0)),
                ('attempted', models.BigIntegerField(default=0)),
                ('attempts', models.BigIntegerField(default=0)),
                ('attempted_succeeded', models.BigIntegerField(default=0)),
                ('attempts_to_success', models.BigIntegerField(default=0)),
                ('cycle_ms', models.BigIntegerField(default=0)),
                ('reflections', models.BigIntegerField(default=0)),
                ('effective', models.BigIntegerField(default=0)),
                ('reflection_tokens', models.BigIntegerField(default=0)),
                ('scored_twice', models.BigIntegerField(default=0)),
                ('over_corrected', models.BigIntegerField(default=0)),
                ('passed_lowered', models.BigIntegerField(default=0)),
                ('checked', models.BigIntegerField(default=0)),
                ('checks_complete', models.BigIntegerField(default=0)),
                ('checks_incomplete', models.BigIntegerField(default=0)),
                ('checks_supplemented', models.BigIntegerField(default=0)),
                ('supplements', models.BigIntegerField(default=0)),
                ('exec_used', models.BigIntegerField(default=0)),
                ('exec_attempted', models.BigIntegerField(default=0)),
                ('exec_succeeded', models.BigIntegerField(default=0)),
                ('prompt_tokens', models.BigIntegerField(default=0)),
                ('completion_tokens', models.BigIntegerField(default=0)),
                ('cost_usd', models.DecimalField(decimal_places=8, default=0, max_digits=24)),
                ('llm_calls', models.BigIntegerField(default=0)),
                ('unpriced_calls', models.BigIntegerField(default=0)),
                ('counted_cost_usd', models.DecimalField(decimal_places=8, default=0, max_digits=24)),
                ('counted_unpriced_calls', models.BigIntegerField(default=0)),
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('finished_at', models.DateTimeField()),
                ('finished_on', models.DateField()),
                ('is_counted', models.BooleanField()),
                ('is_of_several', models.BooleanField(default=False)),
                ('outcome', models.CharField(max_length=16)),
                ('referee', models.CharField(blank=True, default='', max_length=20)),
                ('latency', models.CharField(blank=True, default='', max_length=10)),
                ('failures', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=60), default=list)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='reflection_app.project')),
                ('run', models.OneToOneField(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='figure', to='reflection_app.run')),
                ('task', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='reflection_app.task')),
            ],
            options={
                'indexes': [models.Index(fields=['project', 'finished_on', 'is_scripted'], name='run_figure_by_day'), models.Index(fields=['project', 'finished_at'], name='run_figure_by_time'), models.Index(condition=models.Q(('is_of_several', False), ('task__isnull', False)), fields=['project', 'is_scripted', '-cost_usd', '-prompt_tokens', 'task'], include=('finished_on',), name='run_figure_dearest'), models.Index(condition=models.Q(('is_of_several', True), ('task__isnull', False)), fields=['project', 'finished_on'], name='run_figure_of_several')],
            },
        ),
        migrations.CreateModel(
            name='Step',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('seq', models.PositiveIntegerField()),
                ('key', models.CharField(max_length=200)),
                ('kind', models.CharField(max_length=40)),
                ('state', models.CharField(choices=[('started', 'Running'), ('waiting', 'Waiting'), ('done', 'Done'), ('failed', 'Failed'), ('abandoned', 'Abandoned')], default='started', max_length=10)),
                ('role', models.CharField(blank=True, default='', max_length=40)),
                ('attempt_number', models.PositiveIntegerField(blank=True, null=True)),
                ('request', models.JSONField()),
                ('result', models.JSONField(blank=True, null=True)),
                ('error', models.TextField(blank=True, default='')),
                ('timed_out', models.BooleanField(default=False)),
                ('model', models.CharField(blank=True, default='', max_length=200)),
                ('prompt_tokens', models.PositiveIntegerField(default=0)),
                ('completion_tokens', models.PositiveIntegerField(default=0)),
                ('cost_usd', models.DecimalField(decimal_places=8, default=0, max_digits=16)),
                ('cost_known', models.BooleanField(default=True)),
                ('is_estimated', models.BooleanField(default=False)),
                ('cached_tokens', models.PositiveIntegerField(blank=True, null=True)),
                ('reasoning_tokens', models.PositiveIntegerField(blank=True, null=True)),
                ('duration_s', models.FloatField(default=0.0)),
                ('tries', models.PositiveSmallIntegerField(default=1)),
                ('last_event_seq', models.PositiveIntegerField(default=0)),
                ('is_inherited', models.BooleanField(default=False)),
                ('edited_by_label', models.CharField(blank=True, default='', max_length=200)),
                ('owes_notebook', models.BooleanField(default=False)),
                ('started_at', models.DateTimeField()),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('run', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='steps', to='reflection_app.run')),
            ],
            options={
                'ordering': ('seq',),
                'constraints': [models.UniqueConstraint(fields=('run', 'seq'), name='step_seq_once'), models.UniqueConstraint(fields=('run', 'key'), name='step_key_once')],
            },
        ),
        migrations.CreateModel(
            name='Transcript',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('external_id', models.CharField(blank=True, max_length=200, null=True)),
                ('agent', models.CharField(blank=True, default='', max_length=120)),
                ('objective', models.TextField(blank=True, default='')),
                ('metadata', models.JSONField(blank=True, default=dict)),
                ('reflection', models.CharField(blank=True, default='', max_length=8)),
                ('reflector_switches', models.JSONField(blank=True, default=dict)),
                ('tool_errors', models.JSONField(blank=True, default=list)),
                ('turns_made', models.PositiveIntegerField(default=0)),
                ('reflections_told', models.PositiveIntegerField(default=0)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('ended_at', models.DateTimeField(blank=True, null=True)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='transcripts', to='reflection_app.project')),
                ('run', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='transcript', to='reflection_app.run')),
            ],
            options={
                'indexes': [models.Index(fields=['project', '-created_at', '-id'], name='transcript_newest'), models.Index(fields=['project', 'external_id'], name='transcript_external_id')],
            },
        ),
        migrations.CreateModel(
            name='AgentLease',
            fields=[
                ('run', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='agent_lease', serialize=False, to='reflection_app.run')),
                ('token', models.UUIDField()),
                ('holder', models.CharField(blank=True, default='', max_length=120)),
                ('holder_label', models.CharField(max_length=200)),
                ('lasts_s', models.FloatField()),
                ('until', models.DateTimeField()),
                ('taken_at', models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name='Event',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('seq', models.PositiveIntegerField()),
                ('type', models.CharField(choices=[('run.created', 'Run Created'), ('run.waiting', 'Run Waiting'), ('run.resumed', 'Run Resumed'), ('run.retried', 'Run Retried'), ('run.forked', 'Run Forked'), ('run.redone', 'Run Redone'), ('run.finished', 'Run Finished'), ('step.started', 'Step Started'), ('step.finished', 'Step Finished'), ('review.opened', 'Review Opened'), ('review.claimed', 'Review Claimed'), ('review.released', 'Review Released'), ('review.decided', 'Review Decided'), ('review.assigned', 'Review Assigned'), ('review.opinion', 'Review Opinion'), ('review.undone', 'Review Undone'), ('ticket.issued', 'Ticket Issued'), ('ticket.started', 'Ticket Started'), ('ticket.ended', 'Ticket Ended'), ('report.kept', 'Report Kept'), ('question.asked', 'Question Asked'), ('question.answered', 'Question Answered'), ('comment.added', 'Comment Added'), ('tool_failure.diagnosed', 'Tool Failure Diagnosed'), ('run.reflected', 'Reflected'), ('reflection', 'Reflection'), ('reflection_plan', 'Reflection Plan'), ('reflection_exec', 'Reflection Exec'), ('reflection_again', 'Reflection Again'), ('checks.suggested', 'Checks Suggested'), ('completeness.incomplete', 'Found Incomplete'), ('completeness.completed', 'Completed')], max_length=30)),
                ('payload', models.JSONField(default=dict)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('run', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='events', to='reflection_app.run')),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='events', to='reflection_app.project')),
            ],
            options={
                'ordering': ('seq',),
                'constraints': [models.UniqueConstraint(fields=('run', 'seq'), name='event_seq_once')],
            },
        ),
        migrations.CreateModel(
            name='AgentTrace',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('trace_id', models.CharField(max_length=32)),
                ('spans_received', models.PositiveIntegerField(default=0)),
                ('spans_dropped', models.PositiveIntegerField(default=0)),
                ('has_root', models.BooleanField(default=False)),
                ('tells_of_agents', models.BooleanField(default=True)),
                ('problem', models.TextField(blank=True, default='')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('last_span_at', models.DateTimeField()),
                ('assembled_at', models.DateTimeField(blank=True, null=True)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='agent_traces', to='reflection_app.project')),
                ('transcript', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='agent_traces', to='reflection_app.transcript')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('assembled_at__isnull', True)), fields=['last_span_at'], name='agent_trace_due')],
                'constraints': [models.UniqueConstraint(fields=('project', 'trace_id'), name='agent_trace_once')],
            },
        ),
        migrations.CreateModel(
            name='Attempt',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('number', models.PositiveIntegerField()),
                ('content', models.TextField()),
                ('edited_from', models.PositiveIntegerField(blank=True, null=True)),
                ('edited_by_label', models.CharField(blank=True, default='', max_length=200)),
                ('artifacts', models.JSONField(blank=True, default=list)),
                ('self_check', models.JSONField(blank=True, null=True)),
                ('repairs', models.JSONField(blank=True, default=list)),
                ('is_cut_off', models.BooleanField(default=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('run', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='attempts', to='reflection_app.run')),
                ('step', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='made_attempt', to='reflection_app.step')),
            ],
            options={
                'ordering': ('number',),
                'constraints': [models.UniqueConstraint(fields=('run', 'number'), name='attempt_number_once')],
            },
        ),
        migrations.AddField(
            model_name='run',
            name='best_attempt',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='reflection_app.attempt'),
        ),
        migrations.CreateModel(
            name='Question',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('kind', models.CharField(choices=[('permission', 'permission'), ('knowledge', 'knowledge'), ('repair', 'repair')], max_length=12)),
                ('text', models.TextField()),
                ('context', models.JSONField(default=list)),
                ('choices', models.JSONField(default=list)),
                ('state', models.CharField(choices=[('open', 'Open'), ('answered', 'Answered'), ('withdrawn', 'Withdrawn')], default='open', max_length=10)),
                ('choice', models.CharField(blank=True, choices=[('answer', 'answer'), ('try_again', 'try_again'), ('skip', 'skip'), ('give_up', 'give_up')], default='', max_length=10)),
                ('answer', models.TextField(blank=True, default='')),
                ('answered_by_label', models.CharField(blank=True, default='', max_length=200)),
                ('answered_at', models.DateTimeField(blank=True, null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('answered_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='questions', to='reflection_app.project')),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='questions', to='reflection_app.run')),
                ('step', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='question', to='reflection_app.step')),
            ],
            options={
                'ordering': ('created_at', 'id'),
                'indexes': [models.Index(condition=models.Q(('state', 'open')), fields=['project', 'created_at', 'id'], name='question_open'), models.Index(fields=['run'], name='question_of_run')],
            },
        ),
        migrations.CreateModel(
            name='Reflector',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('kind', models.CharField(choices=[('errors', 'Error reflector'), ('memory', 'Memory reflector')], max_length=6)),
                ('score', models.FloatField(blank=True, null=True)),
                ('findings', models.JSONField(default=list)),
                ('found', models.PositiveIntegerField(default=0)),
                ('added', models.PositiveIntegerField(default=0)),
                ('counted', models.PositiveIntegerField(default=0)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('fork', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='reflector', to='reflection_app.run')),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='reflectors', to='reflection_app.project')),
                ('run', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='reflectors', to='reflection_app.run')),
                ('transcript', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='reflectors', to='reflection_app.transcript')),
            ],
            options={
                'ordering': ('created_at', 'id'),
                'indexes': [models.Index(fields=['project', '-created_at', '-id'], name='reflector_newest'), models.Index(condition=models.Q(('finished_at__isnull', False)), fields=['project', 'finished_at', 'id'], name='reflector_ended')],
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('run__isnull', False), ('transcript__isnull', True)), models.Q(('run__isnull', True), ('transcript__isnull', False)), _connector='OR'), name='reflector_of_one_thing'), models.UniqueConstraint(fields=('run', 'kind'), name='reflector_once_per_run'), models.UniqueConstraint(fields=('transcript', 'kind'), name='reflector_once_per_transcript')],
            },
        ),
        migrations.CreateModel(
            name='RunSpend',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('role', models.CharField(blank=True, default='', max_length=40)),
                ('spent_on', models.CharField(blank=True, default='', max_length=200)),
                ('calls', models.BigIntegerField(default=0)),
                ('prompt_tokens', models.BigIntegerField(default=0)),
                ('completion_tokens', models.BigIntegerField(default=0)),
                ('cost_usd', models.DecimalField(decimal_places=8, default=0, max_digits=24)),
                ('unpriced_calls', models.BigIntegerField(default=0)),
                ('figure', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='spend', to='reflection_app.runfigure')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('figure', 'role', 'spent_on'), name='run_spend_once')],
            },
        ),
        migrations.CreateModel(
            name='ToolFailure',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('place', models.CharField(blank=True, default='', max_length=200)),
                ('agent', models.CharField(blank=True, default='', max_length=120)),
                ('external_id', models.CharField(blank=True, max_length=200, null=True)),
                ('tool', models.CharField(max_length=200)),
                ('params', models.JSONField(default=dict)),
                ('error_message', models.TextField()),
                ('status', models.IntegerField(blank=True, null=True)),
                ('is_repeated', models.BooleanField(default=False)),
                ('error_type', models.CharField(blank=True, choices=[('parameter_error', 'parameter_error'), ('wrong_tool', 'wrong_tool'), ('permission_denied', 'permission_denied'), ('external_service_error', 'external_service_error')], default='', max_length=30)),
                ('root_cause', models.TextField(blank=True, default='')),
                ('severity', models.CharField(blank=True, choices=[('low', 'low'), ('medium', 'medium'), ('high', 'high')], default='', max_length=10)),
                ('action', models.JSONField(blank=True, null=True)),
                ('source', models.CharField(blank=True, choices=[('fix_pair', 'fix_pair'), ('rule', 'rule'), ('meaning', 'meaning'), ('model', 'model'), ('none', 'none')], default='', max_length=10)),
                ('rule', models.CharField(blank=True, default='', max_length=60)),
                ('signature', models.CharField(blank=True, default='', max_length=300)),
                ('symptoms', models.JSONField(default=list)),
                ('worked', models.BooleanField(blank=True, null=True)),
                ('outcome', models.JSONField(blank=True, null=True)),
                ('reported_by_label', models.CharField(blank=True, default='', max_length=200)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('diagnosed_at', models.DateTimeField(blank=True, null=True)),
                ('outcome_at', models.DateTimeField(blank=True, null=True)),
                ('fix_pair', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='tool_failures', to='reflection_app.fixpair')),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='tool_failures', to='reflection_app.project')),
                ('run', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='tool_failures', to='reflection_app.run')),
                ('step', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='diagnosed_failure', to='reflection_app.step')),
            ],
            options={
                'ordering': ('-created_at', '-id'),
                'indexes': [models.Index(fields=['project', '-created_at', '-id'], name='tool_failure_newest'), models.Index(fields=['project', 'tool', '-created_at'], name='tool_failure_of_tool'), models.Index(fields=['run', 'place'], name='tool_failure_of_run'), models.Index(fields=['project', 'tool', 'error_type', 'signature', '-created_at'], include=('source',), name='tool_failure_kinds')],
            },
        ),
        migrations.CreateModel(
            name='TranscriptFile',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('path', models.CharField(max_length=400)),
                ('content', models.TextField(blank=True)),
                ('transcript', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='files', to='reflection_app.transcript')),
            ],
            options={
                'ordering': ('path',),
                'constraints': [models.UniqueConstraint(fields=('transcript', 'path'), name='transcript_file_once')],
            },
        ),
        migrations.CreateModel(
            name='TranscriptTurn',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('seq', models.PositiveIntegerField()),
                ('message', models.JSONField()),
                ('role', models.CharField(max_length=20)),
                ('content', models.TextField(blank=True, default='')),
                ('tool_name', models.CharField(blank=True, default='', max_length=120)),
                ('is_tool_failure', models.BooleanField(default=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('transcript', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='turns', to='reflection_app.transcript')),
            ],
            options={
                'ordering': ('seq',),
                'constraints': [models.UniqueConstraint(fields=('transcript', 'seq'), name='turn_seq_once')],
            },
        ),
        migrations.CreateModel(
            name='CheckDraw',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('task_kind', models.CharField(blank=True, default='', max_length=60)),
                ('arm', models.CharField(choices=[('checked', 'checked'), ('held_out', 'held_out'), ('not_sampled', 'not_sampled')], max_length=12)),
                ('share', models.FloatField()),
                ('holdout_share', models.FloatField()),
                ('is_counted', models.BooleanField()),
                ('succeeded', models.BooleanField(blank=True, null=True)),
                ('settled_at', models.DateTimeField(blank=True, null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('run', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='check_draw', to='reflection_app.run')),
                ('project', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='check_draws', to='reflection_app.project')),
                ('step', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='check_draw', to='reflection_app.step')),
            ],
            options={
                'indexes': [models.Index(fields=['project', 'task_kind', 'settled_at'], name='check_draw_of_kind')],
            },
        ),
        migrations.CreateModel(
            name='CompletenessCheck',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('attempt_number', models.PositiveIntegerField(default=1)),
                ('task_kind', models.CharField(blank=True, default='', max_length=60)),
                ('state', models.CharField(choices=[('complete', 'complete'), ('incomplete', 'incomplete'), ('unchecked', 'unchecked'), ('completed_by_supplement', 'completed_by_supplement')], max_length=24)),
                ('analysis', models.TextField(blank=True, default='')),
                ('missing_aspects', models.JSONField(default=list)),
                ('dropped', models.JSONField(default=list)),
                ('steps_ok', models.BooleanField(default=True)),
                ('error', models.TextField(blank=True, default='')),
                ('tokens', models.PositiveIntegerField(default=0)),
                ('cost_usd', models.DecimalField(decimal_places=8, default=0, max_digits=16)),
                ('cost_known', models.BooleanField(default=True)),
                ('second_look', models.JSONField(blank=True, null=True)),
                ('second_tokens', models.PositiveIntegerField(default=0)),
                ('second_cost_usd', models.DecimalField(decimal_places=8, default=0, max_digits=16)),
                ('used', models.BooleanField(blank=True, null=True)),
                ('attempted', models.PositiveIntegerField(blank=True, null=True)),
                ('succeeded', models.PositiveIntegerField(blank=True, null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='completeness_checks', to='reflection_app.run')),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='completeness_checks', to='reflection_app.project')),
                ('step', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='completeness_check', to='reflection_app.step')),
            ],
            options={
                'ordering': ('-created_at', '-id'),
                'indexes': [models.Index(fields=['project', '-created_at', '-id'], name='completeness_newest'), models.Index(fields=['run', 'created_at'], name='completeness_of_run'), models.Index(fields=['project', 'task_kind', '-created_at', '-id'], name='completeness_of_kind')],
            },
        ),
        migrations.CreateModel(
            name='Delivery',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('type', models.CharField(max_length=30)),
                ('payload', models.JSONField(blank=True, null=True)),
                ('state', models.CharField(choices=[('waiting', 'Waiting'), ('delivered', 'Delivered'), ('given_up', 'Given up')], default='waiting', max_length=10)),
                ('tries', models.PositiveSmallIntegerField(default=0)),
                ('next_at', models.DateTimeField(blank=True, null=True)),
                ('lease_until', models.DateTimeField(blank=True, null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('delivered_at', models.DateTimeField(blank=True, null=True)),
                ('again', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='copies', to='reflection_app.delivery')),
                ('event', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='deliveries', to='reflection_app.event')),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='reflection_app.project')),
                ('webhook', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='reflection_app.webhook')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('state', 'waiting')), fields=['webhook', 'next_at', 'id'], name='delivery_due_to'), models.Index(condition=models.Q(('state', 'waiting'), models.Q(('type__startswith', 'step.'), _negated=True)), fields=['webhook', 'next_at', 'id'], name='delivery_due_first'), models.Index(condition=models.Q(('lease_until__isnull', False), ('state', 'waiting')), fields=['webhook', 'lease_until'], name='delivery_held'), models.Index(fields=['webhook', '-created_at', '-id'], name='delivery_newest'), models.Index(fields=['event'], name='delivery_of_event')],
            },
        ),
        migrations.CreateModel(
            name='ChannelItem',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('topic', models.CharField(choices=[('review', 'A review waits'), ('question', 'A question waits'), ('escalation', 'Something waits longer than the goal'), ('run_failed', 'A run failed'), ('conflict', 'Entries conflict'), ('daily', 'Daily digest'), ('weekly', 'Weekly digest')], max_length=10)),
                ('about_id', models.UUIDField(blank=True, null=True)),
                ('day', models.DateField(blank=True, null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('channel', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='items', to='reflection_app.channel')),
                ('message', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='items', to='reflection_app.channelmessage')),
                ('event', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='reflection_app.event')),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='reflection_app.project')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('message__isnull', True)), fields=['channel', 'created_at'], name='channel_item_due')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('day__isnull', False)), fields=('channel', 'topic', 'day'), name='channel_digest_once')],
            },
        ),
        migrations.CreateModel(
            name='Supplement',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('number', models.PositiveSmallIntegerField()),
                ('task_kind', models.CharField(blank=True, default='', max_length=60)),
                ('operation', models.TextField()),
                ('operation_key', models.CharField(max_length=300)),
                ('reason', models.TextField(blank=True, default='')),
                ('suggested_tools', models.JSONField(default=list)),
                ('estimate', models.JSONField(blank=True, null=True)),
                ('attempted', models.BooleanField(blank=True, null=True)),
                ('succeeded', models.BooleanField(blank=True, null=True)),
                ('left_out', models.CharField(blank=True, default='', max_length=20)),
                ('error', models.TextField(blank=True, default='')),
                ('tokens', models.PositiveIntegerField(default=0)),
                ('cost_usd', models.DecimalField(decimal_places=8, default=0, max_digits=16)),
                ('cost_known', models.BooleanField(default=True)),
                ('seconds', models.FloatField(blank=True, null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('completeness_check', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='supplements', to='reflection_app.completenesscheck')),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='supplements', to='reflection_app.project')),
                ('group', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='supplements', to='reflection_app.supplementgroup')),
            ],
            options={
                'ordering': ('created_at', 'number'),
                'indexes': [models.Index(fields=['project', 'task_kind', 'operation_key'], name='supplement_recurring'), models.Index(fields=['project', '-created_at'], name='supplement_newest')],
            },
        ),
        migrations.CreateModel(
            name='Ticket',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('ticket_id', models.CharField(max_length=60)),
                ('trigger', models.CharField(choices=[('critic_evaluation', 'critic_evaluation'), ('failed_requirement', 'failed_requirement'), ('failed_check', 'failed_check'), ('self_check', 'self_check'), ('persons_review', 'persons_review'), ('persons_order', 'persons_order'), ('interruption', 'interruption')], max_length=20)),
                ('target_agent', models.CharField(blank=True, default='', max_length=120)),
                ('target_phase', models.CharField(blank=True, default='', max_length=120)),
                ('verdict', models.CharField(max_length=8)),
                ('quality_score', models.FloatField()),
                ('issues', models.JSONField(default=list)),
                ('repair_plan', models.JSONField(default=list)),
                ('context_needed', models.JSONField(default=list)),
                ('state', models.CharField(choices=[('open', 'Open'), ('in_progress', 'In progress'), ('resolved', 'Resolved'), ('superseded', 'Superseded'), ('closed', 'Closed')], default='open', max_length=12)),
                ('closed_reason', models.TextField(blank=True, default='')),
                ('ended_by_label', models.CharField(blank=True, default='', max_length=200)),
                ('created_at', models.DateTimeField()),
                ('started_at', models.DateTimeField(blank=True, null=True)),
                ('ended_at', models.DateTimeField(blank=True, null=True)),
                ('attempt', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='tickets', to='reflection_app.attempt')),
                ('project', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='tickets', to='reflection_app.project')),
                ('resolved_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='reflection_app.attempt')),
                ('run', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='tickets', to='reflection_app.run')),
                ('step', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='ticket', to='reflection_app.step')),
                ('superseded_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='replaces', to='reflection_app.ticket')),
            ],
            options={
                'ordering': ('-created_at', '-id'),
                'indexes': [models.Index(fields=['project', '-created_at', '-id'], name='ticket_newest'), models.Index(fields=['project', 'state', '-created_at'], name='ticket_by_state'), models.Index(fields=['run', 'created_at'], name='ticket_of_run')],
                'constraints': [models.UniqueConstraint(fields=('project', 'ticket_id'), name='ticket_id_once')],
            },
        ),
        migrations.CreateModel(
            name='Verdict',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('referee', models.PositiveSmallIntegerField(choices=[(1, 'self'), (2, 'critic'), (3, 'generated_tests'), (4, 'tool'), (5, 'tests'), (6, 'person')])),
                ('verdict', models.CharField(choices=[('PASS', 'PASS'), ('REVISE', 'REVISE'), ('REJECT', 'REJECT')], max_length=8)),
                ('score', models.FloatField()),
                ('confidence', models.FloatField(blank=True, null=True)),
                ('issues', models.JSONField(default=list)),
                ('feedback', models.JSONField(default=dict)),
                ('tests', models.JSONField(blank=True, null=True)),
                ('requirements', models.JSONField(blank=True, null=True)),
                ('completeness', models.FloatField(blank=True, null=True)),
                ('correctness', models.FloatField(blank=True, null=True)),
                ('lowered', models.JSONField(blank=True, null=True)),
                ('ratings', models.JSONField(blank=True, default=list)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('attempt', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='verdicts', to='reflection_app.attempt')),
                ('given_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL)),
                ('step', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='made_verdict', to='reflection_app.step')),
            ],
            options={
                'ordering': ('created_at', 'id'),
            },
        ),
        migrations.CreateModel(
            name='AgentSpan',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('span_id', models.CharField(max_length=16)),
                ('parent_id', models.CharField(blank=True, default='', max_length=16)),
                ('name', models.CharField(max_length=400)),
                ('attributes', models.JSONField(default=dict)),
                ('events', models.JSONField(default=list)),
                ('resource', models.JSONField(default=dict)),
                ('is_error', models.BooleanField(default=False)),
                ('status_message', models.TextField(blank=True, default='')),
                ('start_ns', models.BigIntegerField()),
                ('end_ns', models.BigIntegerField()),
                ('unread', models.CharField(blank=True, default='', max_length=16)),
                ('received_at', models.DateTimeField(auto_now_add=True)),
                ('trace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='spans', to='reflection_app.agenttrace')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('unread', ''), _negated=True), fields=['-received_at', '-id'], name='agent_span_unread'), models.Index(condition=models.Q(('unread', ''), _negated=True), fields=['trace'], name='agent_span_unread_trace')],
                'constraints': [models.UniqueConstraint(fields=('trace', 'span_id'), name='agent_span_once')],
            },
        ),
        migrations.CreateModel(
            name='AttemptAttachment',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('place', models.PositiveSmallIntegerField()),
                ('name', models.CharField(blank=True, default='', max_length=200)),
                ('claimed', models.CharField(blank=True, default='', max_length=200)),
                ('word', models.TextField()),
                ('url', models.TextField(blank=True, default='')),
                ('attachment', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='places', to='reflection_app.attachment')),
                ('attempt', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='attachments', to='reflection_app.attempt')),
            ],
            options={
                'ordering': ('place',),
                'constraints': [models.UniqueConstraint(fields=('attempt', 'place'), name='attempt_attachment_once'), models.CheckConstraint(condition=models.Q(models.Q(('attachment__isnull', False), ('url', '')), models.Q(('attachment__isnull', True), models.Q(('url', ''), _negated=True)), _connector='OR'), name='attempt_attachment_file_or_link')],
            },
        ),
        migrations.CreateModel(
            name='DeliveryTry',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('number', models.PositiveSmallIntegerField()),
                ('status', models.PositiveSmallIntegerField(blank=True, null=True)),
                ('answer', models.TextField(blank=True, default='')),
                ('error', models.TextField(blank=True, default='')),
                ('duration_s', models.FloatField(default=0.0)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('delivery', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='log', to='reflection_app.delivery')),
            ],
            options={
                'ordering': ('number',),
                'constraints': [models.UniqueConstraint(fields=('delivery', 'number'), name='delivery_try_once')],
            },
        ),
        migrations.CreateModel(
            name='Label',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('kind', models.CharField(choices=[('error_class', 'Error Class'), ('does_not_know', 'Does Not Know'), ('same_mistake', 'Same Mistake'), ('tool_error', 'Tool Error'), ('proposal', 'Proposal'), ('entry_pair', 'Entry Pair'), ('screening', 'Screening')], max_length=20)),
                ('about', models.CharField(max_length=20)),
                ('about_id', models.UUIDField()),
                ('input', models.JSONField()),
                ('claimed', models.CharField(max_length=60)),
                ('corrected', models.CharField(max_length=60)),
                ('is_corrected', models.BooleanField()),
                ('by_label', models.CharField(max_length=200)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('run', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='labels', to='reflection_app.run')),
                ('user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='labels', to='reflection_app.project')),
                ('tool_failure', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='labels', to='reflection_app.toolfailure')),
            ],
            options={
                'ordering': ('created_at', 'id'),
                'indexes': [models.Index(fields=['project', 'kind', 'created_at'], name='label_by_kind'), models.Index(fields=['about_id', 'kind'], name='label_about')],
            },
        ),
        migrations.CreateModel(
            name='Pair',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('objective', models.TextField()),
                ('objective_b', models.TextField(blank=True, default='')),
                ('answer_a', models.TextField()),
                ('answer_b', models.TextField()),
                ('model_a', models.CharField(max_length=200)),
                ('model_b', models.CharField(max_length=200)),
                ('prompt_a', models.CharField(blank=True, default='', max_length=120)),
                ('prompt_b', models.CharField(blank=True, default='', max_length=120)),
                ('handed_in_by', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=40), blank=True, default=list)),
                ('wanted', models.PositiveSmallIntegerField(default=1)),
                ('judged', models.PositiveSmallIntegerField(default=0)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('attempt_a', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='pairs_as_a', to='reflection_app.attempt')),
                ('attempt_b', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='pairs_as_b', to='reflection_app.attempt')),
                ('set', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='pairs', to='reflection_app.comparisonset')),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='pairs', to='reflection_app.project')),
            ],
            options={
                'indexes': [models.Index(fields=['set', 'created_at', 'id'], name='pair_of_set'), models.Index(condition=models.Q(('judged__lt', models.F('wanted'))), fields=['project', 'judged', 'id'], name='pair_open')],
                'constraints': [models.CheckConstraint(condition=models.Q(('wanted__gte', 1), ('wanted__lte', 5)), name='pair_wanted'), models.CheckConstraint(condition=models.Q(('judged__lte', models.F('wanted'))), name='pair_not_overjudged')],
            },
        ),
        migrations.CreateModel(
            name='ProducedFile',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('place', models.PositiveSmallIntegerField()),
                ('name', models.CharField(max_length=200)),
                ('facts', models.JSONField(blank=True, null=True)),
                ('attachment', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='produced', to='reflection_app.attachment')),
                ('attempt', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='looked_at', to='reflection_app.attempt')),
                ('run', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='produced_files', to='reflection_app.run')),
                ('step', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='produced_files', to='reflection_app.step')),
            ],
            options={
                'ordering': ('place',),
                'constraints': [models.UniqueConstraint(fields=('run', 'step', 'place'), name='produced_once', nulls_distinct=False)],
            },
        ),
        migrations.CreateModel(
            name='Report',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('reflection_id', models.CharField(max_length=60)),
                ('agent', models.CharField(blank=True, default='', max_length=120)),
                ('trigger', models.CharField(choices=[('critic_evaluation', 'critic_evaluation'), ('failed_requirement', 'failed_requirement'), ('failed_check', 'failed_check'), ('self_check', 'self_check'), ('persons_review', 'persons_review'), ('persons_order', 'persons_order'), ('interruption', 'interruption')], max_length=20)),
                ('error_type', models.CharField(choices=[('3.3.1', '3.3.1'), ('3.3.2', '3.3.2'), ('3.3.3', '3.3.3'), ('3.3.4', '3.3.4'), ('3.3.5', '3.3.5')], max_length=8)),
                ('corrected_type', models.CharField(blank=True, choices=[('3.3.1', '3.3.1'), ('3.3.2', '3.3.2'), ('3.3.3', '3.3.3'), ('3.3.4', '3.3.4'), ('3.3.5', '3.3.5')], max_length=8, null=True)),
                ('surface_issue', models.TextField(blank=True, default='')),
                ('issues', models.JSONField(default=list)),
                ('content', models.JSONField()),
                ('created_at', models.DateTimeField()),
                ('updated_at', models.DateTimeField()),
                ('attempt', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='reports', to='reflection_app.attempt')),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='reports', to='reflection_app.project')),
                ('revised_attempt', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='reflection_app.attempt')),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='reports', to='reflection_app.run')),
                ('step', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='report', to='reflection_app.step')),
                ('ticket', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='reports', to='reflection_app.ticket')),
            ],
            options={
                'ordering': ('-created_at', '-id'),
                'indexes': [models.Index(fields=['project', '-created_at', '-id'], name='report_newest'), models.Index(fields=['project', 'agent', '-created_at'], name='report_of_agent'), models.Index(fields=['run', 'created_at'], name='report_of_run')],
                'constraints': [models.UniqueConstraint(fields=('project', 'reflection_id'), name='reflection_id_once')],
            },
        ),
        migrations.CreateModel(
            name='PairJudgement',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('state', models.CharField(choices=[('claimed', 'Claimed'), ('judged', 'Judged'), ('skipped', 'Skipped')], default='claimed', max_length=8)),
                ('person', models.IntegerField(null=True)),
                ('by_label', models.CharField(max_length=200)),
                ('is_by_key', models.BooleanField(default=False)),
                ('left', models.CharField(choices=[('a', 'A'), ('b', 'B')], max_length=1)),
                ('lease_token', models.UUIDField(blank=True, null=True)),
                ('lease_until', models.DateTimeField(blank=True, null=True)),
                ('choice', models.CharField(blank=True, choices=[('left', 'Left'), ('right', 'Right'), ('tie', 'Tie'), ('both_bad', 'Both bad')], max_length=8, null=True)),
                ('reason', models.TextField(blank=True, default='')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('judged_at', models.DateTimeField(blank=True, null=True)),
                ('by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='pair_judgements', to=settings.AUTH_USER_MODEL)),
                ('by_key', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='pair_judgements', to='reflection_app.apikey')),
                ('pair', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='judgements', to='reflection_app.pair')),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='pair_judgements', to='reflection_app.project')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('judged_at__isnull', False)), fields=['project', 'judged_at', 'id'], name='pair_judged'), models.Index(fields=['project', 'person', 'state'], name='pair_of_person')],
                'constraints': [models.UniqueConstraint(fields=('pair', 'person'), name='pair_person_once'), models.CheckConstraint(condition=models.Q(models.Q(('choice__isnull', False), ('judged_at__isnull', False), ('state', 'judged')), models.Q(models.Q(('state', 'judged'), _negated=True), ('choice__isnull', True), ('judged_at__isnull', True)), _connector='OR'), name='pair_choice_when_judged')],
            },
        ),
        migrations.CreateModel(
            name='Panel',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('reason', models.CharField(choices=[('rejected', 'rejected'), ('low_confidence', 'low_confidence'), ('unsettled_pick', 'unsettled_pick'), ('broken_tests', 'broken_tests'), ('audit', 'audit'), ('checkpoint', 'checkpoint'), ('policy', 'policy'), ('asked_for', 'asked_for'), ('adjudication', 'adjudication')], max_length=20)),
                ('holds_run', models.BooleanField()),
                ('wanted', models.PositiveSmallIntegerField()),
                ('state', models.CharField(choices=[('open', 'Open'), ('disputed', 'Disputed'), ('settled', 'Settled'), ('withdrawn', 'Withdrawn')], default='open', max_length=10)),
                ('agreed', models.BooleanField(blank=True, null=True)),
                ('was_reopened', models.BooleanField(default=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('complete_at', models.DateTimeField(blank=True, null=True)),
                ('settled_at', models.DateTimeField(blank=True, null=True)),
                ('attempt', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='panels', to='reflection_app.attempt')),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='panels', to='reflection_app.run')),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='panels', to='reflection_app.project')),
                ('step', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='panels', to='reflection_app.step')),
                ('verdict', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='panels', to='reflection_app.verdict')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('agreed__isnull', False)), fields=['project', 'complete_at'], name='panel_complete'), models.Index(fields=['run'], name='panel_of_run')],
            },
        ),
        migrations.CreateModel(
            name='Review',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('reason', models.CharField(choices=[('rejected', 'rejected'), ('low_confidence', 'low_confidence'), ('unsettled_pick', 'unsettled_pick'), ('broken_tests', 'broken_tests'), ('audit', 'audit'), ('checkpoint', 'checkpoint'), ('policy', 'policy'), ('asked_for', 'asked_for'), ('adjudication', 'adjudication')], max_length=20)),
                ('holds_run', models.BooleanField()),
                ('state', models.CharField(choices=[('waiting', 'Waiting'), ('claimed', 'Claimed'), ('decided', 'Decided'), ('withdrawn', 'Withdrawn')], default='waiting', max_length=10)),
                ('holder_label', models.CharField(blank=True, default='', max_length=200)),
                ('holder_person', models.IntegerField(blank=True, null=True)),
                ('handed_in_by', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=40), blank=True, default=list)),
                ('lease_token', models.UUIDField(blank=True, null=True)),
                ('lease_until', models.DateTimeField(blank=True, null=True)),
                ('note', models.TextField(blank=True, default='')),
                ('note_by_label', models.CharField(blank=True, default='', max_length=200)),
                ('opinion', models.JSONField(blank=True, null=True)),
                ('decision', models.CharField(blank=True, choices=[('approve', 'approve'), ('overrule', 'overrule')], max_length=10, null=True)),
                ('decision_reason', models.TextField(blank=True, default='')),
                ('edited_answer', models.TextField(blank=True, null=True)),
                ('decided_by_label', models.CharField(blank=True, default='', max_length=200)),
                ('decided_at', models.DateTimeField(blank=True, null=True)),
                ('decided_seq', models.PositiveIntegerField(blank=True, null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('assignee', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='assigned_reviews', to=settings.AUTH_USER_MODEL)),
                ('attempt', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='reviews', to='reflection_app.attempt')),
                ('decided_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='decided_reviews', to=settings.AUTH_USER_MODEL)),
                ('decided_by_key', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='decided_reviews', to='reflection_app.apikey')),
                ('holder', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='held_reviews', to=settings.AUTH_USER_MODEL)),
                ('ordered_run', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='ordered_by', to='reflection_app.run')),
                ('panel', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='seats', to='reflection_app.panel')),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='reviews', to='reflection_app.project')),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='reviews', to='reflection_app.run')),
                ('queue', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='reviews', to='reflection_app.reviewqueue')),
                ('step', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='reviews', to='reflection_app.step')),
                ('decided_verdict', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='decided_by_reviews', to='reflection_app.verdict')),
                ('verdict', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='reviews', to='reflection_app.verdict')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('state__in', ('waiting', 'claimed'))), fields=['project', '-holds_run', 'created_at', 'id'], name='review_open_first'), models.Index(condition=models.Q(('state__in', ('waiting', 'claimed'))), fields=['project', 'created_at', 'id'], name='review_oldest'), models.Index(condition=models.Q(('assignee__isnull', True), ('state__in', ('waiting', 'claimed'))), fields=['project', '-holds_run', 'created_at', 'id'], name='review_next'), models.Index(condition=models.Q(('assignee__isnull', False), ('state__in', ('waiting', 'claimed'))), fields=['assignee', 'project', '-holds_run', 'created_at', 'id'], name='review_assigned'), models.Index(condition=models.Q(('state__in', ('waiting', 'claimed'))), fields=['project', 'reason'], name='review_by_reason'), models.Index(condition=models.Q(('state', 'decided')), fields=['project', '-decided_at', '-id'], name='review_decided'), models.Index(fields=['run'], name='review_of_run'), models.Index(condition=models.Q(('queue__isnull', False), ('state__in', ('waiting', 'claimed'))), fields=['queue', '-holds_run', 'created_at', 'id'], name='review_in_queue')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('panel__isnull', False), ('state__in', ('claimed', 'decided')), models.Q(('reason', 'adjudication'), _negated=True)), fields=('panel', 'holder_person'), name='seat_once')],
            },
        ),
        migrations.CreateModel(
            name='AgentInstruction',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('agent', models.CharField(blank=True, default='', max_length=120)),
                ('text', models.TextField()),
                ('state', models.CharField(choices=[('proposed', 'Proposed'), ('accepted', 'Accepted'), ('declined', 'Declined')], default='proposed', max_length=10)),
                ('decided_by_label', models.CharField(blank=True, default='', max_length=200)),
                ('decided_at', models.DateTimeField(blank=True, null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('decided_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='agent_instructions', to='reflection_app.project')),
                ('report', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='instructions', to='reflection_app.report')),
            ],
            options={
                'ordering': ('-created_at', '-id'),
                'indexes': [models.Index(fields=['project', 'agent', 'state'], name='instruction_of_agent')],
                'constraints': [models.UniqueConstraint(models.F('project'), models.F('agent'), django.db.models.functions.text.MD5('text'), name='instruction_once')],
            },
        ),
        migrations.CreateModel(
            name='ClassCorrection',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('computed', models.CharField(choices=[('3.3.1', '3.3.1'), ('3.3.2', '3.3.2'), ('3.3.3', '3.3.3'), ('3.3.4', '3.3.4'), ('3.3.5', '3.3.5')], max_length=8)),
                ('before', models.CharField(choices=[('3.3.1', '3.3.1'), ('3.3.2', '3.3.2'), ('3.3.3', '3.3.3'), ('3.3.4', '3.3.4'), ('3.3.5', '3.3.5')], max_length=8)),
                ('after', models.CharField(choices=[('3.3.1', '3.3.1'), ('3.3.2', '3.3.2'), ('3.3.3', '3.3.3'), ('3.3.4', '3.3.4'), ('3.3.5', '3.3.5')], max_length=8)),
                ('reason', models.TextField()),
                ('by_label', models.CharField(max_length=200)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('report', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='corrections', to='reflection_app.report')),
            ],
            options={
                'ordering': ('created_at', 'id'),
            },
        ),
        migrations.CreateModel(
            name='Escalation',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('number', models.PositiveIntegerField(default=1)),
                ('goal_minutes', models.PositiveIntegerField()),
                ('created_at', models.DateTimeField()),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='escalations', to='reflection_app.project')),
                ('question', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='escalations', to='reflection_app.question')),
                ('review', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='escalations', to='reflection_app.review')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('review', 'number'), name='escalation_of_review_once'), models.UniqueConstraint(fields=('question', 'number'), name='escalation_of_question_once'), models.CheckConstraint(condition=models.Q(('review__isnull', False), ('question__isnull', False), _connector='XOR'), name='escalation_of_one')],
            },
        ),
        migrations.CreateModel(
            name='ReviewExample',
            fields=[
                ('id', models.UUIDField(default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('note', models.TextField()),
                ('kept_by_label', models.CharField(max_length=200)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('kept_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='review_examples', to='reflection_app.project')),
                ('review', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='kept_as_example', to='reflection_app.review')),
            ],
            options={
                'ordering': ('-created_at', '-id'),
                'indexes': [models.Index(fields=['project', '-created_at', '-id'], name='review_example_newest')],
            },
        ),
        migrations.CreateModel(
            name='ReviewSkip',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('by_label', models.CharField(max_length=200)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('review', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='skips', to='reflection_app.review')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('review', 'by_label'), name='skip_once')],
            },
        ),
        migrations.CreateModel(
            name='BulkItem',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('position', models.PositiveIntegerField()),
                ('state', models.CharField(choices=[('pending', 'Pending'), ('done', 'Decided'), ('failed', 'Not decided'), ('undone', 'Undone'), ('kept', 'Could not be undone')], default='pending', max_length=8)),
                ('error', models.TextField(blank=True, default='')),
                ('bulk', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='items', to='reflection_app.bulkdecision')),
                ('review', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='bulk_items', to='reflection_app.review')),
            ],
            options={
                'ordering': ('position',),
                'constraints': [models.UniqueConstraint(fields=('bulk', 'review'), name='bulk_item_once')],
            },
        ),
        migrations.RunSQL(APPEND_ONLY, CHANGEABLE),
        migrations.RunSQL(PUT_OUT, PUT_NOTHING_OUT),
        migrations.RunSQL(WATCH, WATCH_NO_MORE),
        migrations.RunSQL(TELL_CHANNELS, TELL_NO_CHANNELS),
        migrations.RunSQL(FUNCTIONS, FUNCTIONS_BACK),
        *(migrations.RunSQL(kept(table), no_longer_kept(table)) for table in TABLES),
        # Pictures and sounds are compressed already; kept as it is, a range of one is read without the rest.
        migrations.RunSQL(
            "ALTER TABLE reflection_app_attachment ALTER COLUMN content SET STORAGE EXTERNAL", migrations.RunSQL.noop
        ),
    ]
