import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.db.models.deletion
import django.utils.timezone
import notebook_app.models
import pgvector.django.halfvec
from django.conf import settings
from django.db import migrations, models
from pgvector.django import VectorExtension


class Migration(migrations.Migration):

    # In place of what this was at first. Only the last is named: a database that stands there has nothing left to do, and at
    # an earlier one `migrate` ends at a table that exists already. Were all named, it would say that nothing is to be done.
    replaces = [('notebook_app', '0005_screening_by_meaning')]

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        # Where the desk's own role may not, its administrator makes the extension before.
        VectorExtension(),
        migrations.CreateModel(
            name='Entry',
            fields=[
                ('id', models.UUIDField(default=notebook_app.models.new_id, editable=False, primary_key=True, serialize=False)),
                ('project_id', models.UUIDField()),
                ('kind', models.CharField(choices=[('error_note', 'Error note'), ('anti_pattern', 'Anti-pattern'), ('lesson', 'Lesson'), ('fix_pair', 'Fix pair'), ('rule', 'Rule'), ('project_fact', 'Project fact'), ('preference', 'Preference'), ('supplement', 'Follow-up step')], max_length=20)),
                ('state', models.CharField(choices=[('proposed', 'Proposed'), ('screened', 'Checked'), ('approved', 'Approved'), ('retired', 'Retired'), ('rejected', 'Rejected'), ('merged', 'Merged')], default='proposed', max_length=10)),
                ('name', models.CharField(max_length=200)),
                ('description', models.TextField(blank=True, default='')),
                ('content', models.TextField(blank=True, default='')),
                ('agent', models.CharField(blank=True, default='', max_length=120)),
                ('category', models.CharField(blank=True, default='', max_length=120)),
                ('source', models.CharField(max_length=200)),
                ('occurrences', models.PositiveIntegerField(default=1)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('decided_at', models.DateTimeField(blank=True, null=True)),
                ('decided_by_label', models.CharField(blank=True, default='', max_length=200)),
                ('details', models.JSONField(blank=True, default=dict)),
                ('fingerprint', models.CharField(max_length=64)),
                ('flags', models.JSONField(blank=True, default=list)),
                ('is_compared', models.BooleanField(default=False)),
                ('is_cleared', models.BooleanField(default=False)),
                ('last_recalled_at', models.DateTimeField(blank=True, null=True)),
                ('last_seen_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('merged_into', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='merged_entries', to='notebook_app.entry')),
                ('owner', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('reason', models.TextField(blank=True, default='')),
                ('recalled', models.PositiveIntegerField(default=0)),
                ('search', django.contrib.postgres.search.SearchVectorField(null=True)),
                ('tags', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=60), blank=True, default=list)),
                ('version', models.PositiveIntegerField(default=1)),
                ('read_by_weights', models.PositiveIntegerField(default=0)),
            ],
            options={
                'ordering': ('-created_at', '-id'),
                'indexes': [models.Index(fields=['project_id', 'state', '-created_at', '-id'], name='entry_by_state'), models.Index(fields=['project_id', '-created_at', '-id'], name='entry_newest'), models.Index(fields=['project_id', 'state', '-occurrences', '-recalled', '-id'], name='entry_by_occurrences'), models.Index(fields=['project_id', 'state', 'last_recalled_at'], name='entry_by_last_recall'), models.Index(fields=['project_id', 'owner', 'state'], name='entry_by_owner'), models.Index(condition=models.Q(('is_compared', False)), fields=['created_at', 'id'], name='entry_to_compare'), django.contrib.postgres.indexes.GinIndex(fields=['tags'], name='entry_by_tag'), django.contrib.postgres.indexes.GinIndex(fastupdate=False, fields=['search'], name='entry_by_words'), models.Index(condition=models.Q(('search__isnull', True)), fields=['id'], name='entry_not_indexed'), models.Index(fields=['read_by_weights', 'updated_at'], name='entry_to_read')],
                'constraints': [models.UniqueConstraint(fields=('project_id', 'source'), name='entry_source_once'), models.CheckConstraint(condition=models.Q(models.Q(('state', 'merged'), _negated=True), ('merged_into__isnull', False), _connector='OR'), name='entry_merged_into_another'), models.UniqueConstraint(fields=('project_id', 'fingerprint'), name='entry_fingerprint_once')],
            },
        ),
        migrations.CreateModel(
            name='Conflict',
            fields=[
                ('id', models.UUIDField(default=notebook_app.models.new_id, editable=False, primary_key=True, serialize=False)),
                ('project_id', models.UUIDField()),
                ('kind', models.CharField(choices=[('duplicate', 'Near-duplicates'), ('contradiction', 'Contradiction')], max_length=13)),
                ('state', models.CharField(choices=[('open', 'Open'), ('settled', 'Resolved'), ('moot', 'Obsolete')], default='open', max_length=7)),
                ('text_likeness', models.FloatField()),
                ('meaning_likeness', models.FloatField(blank=True, null=True)),
                ('why', models.JSONField(blank=True, default=dict)),
                ('settlement', models.CharField(blank=True, choices=[('merged', 'merged the entries'), ('kept_both', 'retained both entries'), ('superseded', 'replaced one entry with the other')], default='', max_length=10)),
                ('settled_by_label', models.CharField(blank=True, default='', max_length=200)),
                ('reason', models.TextField(blank=True, default='')),
                ('settled_at', models.DateTimeField(blank=True, null=True)),
                ('suggestion', models.JSONField(blank=True, null=True)),
                ('suggestion_run', models.UUIDField(blank=True, null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('first', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='conflicts_as_first', to='notebook_app.entry')),
                ('second', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='conflicts_as_second', to='notebook_app.entry')),
            ],
            options={
                'ordering': ('-created_at', '-id'),
                'indexes': [models.Index(fields=['project_id', 'state', '-created_at', '-id'], name='conflict_by_state')],
                'constraints': [models.UniqueConstraint(fields=('first', 'second'), name='conflict_once'), models.CheckConstraint(condition=models.Q(('first__lt', models.F('second'))), name='conflict_of_two')],
            },
        ),
        migrations.CreateModel(
            name='EmbeddingSpace',
            fields=[
                ('id', models.UUIDField(default=notebook_app.models.new_id, editable=False, primary_key=True, serialize=False)),
                ('model', models.CharField(max_length=200, unique=True)),
                ('dimensions', models.PositiveIntegerField()),
                ('state', models.CharField(choices=[('filling', 'Filling'), ('active', 'Active')], default='filling', max_length=7)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('activated_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'constraints': [models.UniqueConstraint(condition=models.Q(('state', 'active')), fields=('state',), name='one_active_space')],
            },
        ),
        migrations.CreateModel(
            name='Embedding',
            fields=[
                ('id', models.UUIDField(default=notebook_app.models.new_id, editable=False, primary_key=True, serialize=False)),
                ('project_id', models.UUIDField()),
                ('text_hash', models.CharField(max_length=64)),
                ('vector', pgvector.django.halfvec.HalfVectorField()),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('entry', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='embeddings', to='notebook_app.entry')),
                ('space', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='embeddings', to='notebook_app.embeddingspace')),
            ],
            options={
                'indexes': [models.Index(fields=['project_id', 'space'], name='embedding_of_project')],
                'constraints': [models.UniqueConstraint(fields=('entry', 'space'), name='embedding_once')],
            },
        ),
        migrations.CreateModel(
            name='EntryVersion',
            fields=[
                ('id', models.UUIDField(default=notebook_app.models.new_id, editable=False, primary_key=True, serialize=False)),
                ('number', models.PositiveIntegerField()),
                ('change', models.CharField(choices=[('proposed', 'proposed it'), ('screened', 'compared it with other entries'), ('edited', 'edited it'), ('approved', 'approved it'), ('rejected', 'rejected it'), ('retired', 'retired it'), ('merged', 'merged it into another entry'), ('superseded', 'replaced it with another entry'), ('absorbed', 'merged another entry into it'), ('released', 'undid a merge into it'), ('split', 'split it'), ('restored', 'restored an earlier version'), ('reopened', 'reopened it'), ('tagged', 'changed its tags'), ('owned', 'changed its owner'), ('cleared', 'cleared its safety flag'), ('flagged', 'flagged it in a safety check by meaning'), ('imported', 'imported it'), ('undone', 'undid the last change')], max_length=20)),
                ('state', models.CharField(max_length=10)),
                ('kept', models.JSONField()),
                ('reason', models.TextField(blank=True, default='')),
                ('by_label', models.CharField(max_length=200)),
                ('evidence', models.JSONField(blank=True, default=dict)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('entry', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='versions', to='notebook_app.entry')),
            ],
            options={
                'ordering': ('-number',),
                'constraints': [models.UniqueConstraint(fields=('entry', 'number'), name='entry_version_once')],
            },
        ),
        migrations.CreateModel(
            name='Evidence',
            fields=[
                ('id', models.UUIDField(default=notebook_app.models.new_id, editable=False, primary_key=True, serialize=False)),
                ('project_id', models.UUIDField()),
                ('refs', models.JSONField()),
                ('refs_key', models.CharField(max_length=64)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('entry', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='evidence', to='notebook_app.entry')),
            ],
            options={
                'ordering': ('created_at', 'id'),
                'indexes': [models.Index(fields=['entry', '-created_at', '-id'], name='evidence_newest'), django.contrib.postgres.indexes.GinIndex(fields=['refs'], name='evidence_by_ref', opclasses=('jsonb_path_ops',))],
                'constraints': [models.UniqueConstraint(fields=('entry', 'refs_key'), name='evidence_once')],
            },
        ),
        migrations.CreateModel(
            name='Exposure',
            fields=[
                ('id', models.UUIDField(default=notebook_app.models.new_id, editable=False, primary_key=True, serialize=False)),
                ('project_id', models.UUIDField()),
                ('entry_version', models.PositiveIntegerField()),
                ('subject', models.CharField(max_length=200)),
                ('is_counted', models.BooleanField(default=True)),
                ('share', models.FloatField()),
                ('draw', models.FloatField()),
                ('is_withheld', models.BooleanField()),
                ('rank', models.PositiveIntegerField()),
                ('score', models.FloatField()),
                ('succeeded', models.BooleanField(blank=True, null=True)),
                ('settled_at', models.DateTimeField(blank=True, null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('entry', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='exposures', to='notebook_app.entry')),
                ('is_summed', models.BooleanField(default=False)),
            ],
            options={
                'indexes': [models.Index(fields=['entry', '-created_at', '-id'], name='exposure_newest'), models.Index(condition=models.Q(('is_counted', True), ('succeeded__isnull', False)), fields=['project_id', 'entry', 'settled_at', 'id'], include=('is_withheld', 'succeeded', 'share'), name='exposure_settled'), models.Index(condition=models.Q(('is_summed', False)), fields=['project_id'], name='exposure_unsummed')],
                'constraints': [models.UniqueConstraint(fields=('project_id', 'subject', 'entry'), name='exposure_drawn_once')],
            },
        ),
        migrations.CreateModel(
            name='ImportBatch',
            fields=[
                ('id', models.UUIDField(default=notebook_app.models.new_id, editable=False, primary_key=True, serialize=False)),
                ('project_id', models.UUIDField()),
                ('state', models.CharField(choices=[('previewed', 'Previewed'), ('applying', 'Applying'), ('applied', 'Applied')], default='previewed', max_length=9)),
                ('file_names', models.JSONField(default=list)),
                ('items', models.JSONField(default=list)),
                ('problems', models.JSONField(default=list)),
                ('counts', models.JSONField(default=dict)),
                ('by_label', models.CharField(max_length=200)),
                ('by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('applied_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'ordering': ('-created_at', '-id'),
                'indexes': [models.Index(fields=['project_id', '-created_at', '-id'], name='import_newest')],
            },
        ),
        # As the widest column, `search` would be the first to be moved out of a row of more than 2 KB, and recall reads
        # it of up to a thousand rows at a time: each would be two more look-ups.
        migrations.RunSQL(
            'ALTER TABLE notebook_app_entry ALTER COLUMN search SET STORAGE MAIN',
            'ALTER TABLE notebook_app_entry ALTER COLUMN search SET STORAGE EXTENDED',
        ),
    ]
