import django.db.models.deletion
import django.utils.timezone
import reflection_app.core.ids
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('reflection_app', '0001_squashed_0013_first_password'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='dayfigure',
            name='counted_cost_usd',
            field=models.DecimalField(decimal_places=8, default=0, max_digits=24),
        ),
        migrations.AddField(
            model_name='dayfigure',
            name='counted_unpriced_calls',
            field=models.BigIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='runfigure',
            name='counted_cost_usd',
            field=models.DecimalField(decimal_places=8, default=0, max_digits=24),
        ),
        migrations.AddField(
            model_name='runfigure',
            name='counted_unpriced_calls',
            field=models.BigIntegerField(default=0),
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
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='labels', to='reflection_app.project')),
                ('run', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='labels', to='reflection_app.run')),
                ('tool_failure', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='labels', to='reflection_app.toolfailure')),
                ('user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ('created_at', 'id'),
                'indexes': [models.Index(fields=['project', 'kind', 'created_at'], name='label_by_kind'), models.Index(fields=['about_id', 'kind'], name='label_about')],
            },
        ),
        migrations.AddField(
            model_name='dayfigure',
            name='checks_supplemented',
            field=models.BigIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='project',
            name='completeness_by_kind',
            field=models.JSONField(blank=True, default=dict),
        ),
        migrations.AddField(
            model_name='runfigure',
            name='checks_supplemented',
            field=models.BigIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='task',
            name='reflector_switches',
            field=models.JSONField(blank=True, default=dict),
        ),
        migrations.AddField(
            model_name='transcript',
            name='reflector_switches',
            field=models.JSONField(blank=True, default=dict),
        ),
        migrations.AlterField(
            model_name='completenesscheck',
            name='state',
            field=models.CharField(choices=[('complete', 'complete'), ('incomplete', 'incomplete'), ('unchecked', 'unchecked'), ('completed_by_supplement', 'completed_by_supplement')], max_length=24),
        ),
        migrations.AddField(
            model_name='dayfigure',
            name='passed_lowered',
            field=models.BigIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='runfigure',
            name='passed_lowered',
            field=models.BigIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='verdict',
            name='lowered',
            field=models.JSONField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='fixpair',
            name='learned',
            field=models.JSONField(default=list),
        ),
        migrations.AlterField(
            model_name='toolfailure',
            name='source',
            field=models.CharField(blank=True, choices=[('fix_pair', 'fix_pair'), ('rule', 'rule'), ('meaning', 'meaning'), ('model', 'model'), ('none', 'none')], default='', max_length=10),
        ),
    ]
