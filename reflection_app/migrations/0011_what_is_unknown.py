from django.db import migrations, models

# What runs took whose price was not known, from the steps that they did themselves.
COUNT_UNPRICED = """
UPDATE reflection_app_run run SET unpriced_calls = counted.calls
FROM (
    SELECT run_id, count(*) AS calls FROM reflection_app_step
    WHERE NOT cost_known AND NOT is_inherited GROUP BY run_id
) counted
WHERE run.id = counted.run_id
"""


class Migration(migrations.Migration):
    dependencies = [("reflection_app", "0010_keys_are_no_people")]

    operations = [
        migrations.AddField("attempt", "is_cut_off", models.BooleanField(default=False)),
        migrations.AddField("run", "estimated_tokens", models.PositiveBigIntegerField(default=0)),
        migrations.AddField("run", "cached_tokens", models.PositiveBigIntegerField(blank=True, null=True)),
        migrations.AddField("run", "reasoning_tokens", models.PositiveBigIntegerField(blank=True, null=True)),
        migrations.AddField("run", "unpriced_calls", models.PositiveIntegerField(default=0)),
        migrations.AddField("run", "unmetered_calls", models.PositiveIntegerField(default=0)),
        migrations.AddField("step", "is_estimated", models.BooleanField(default=False)),
        migrations.AddField("step", "cached_tokens", models.PositiveIntegerField(blank=True, null=True)),
        migrations.AddField("step", "reasoning_tokens", models.PositiveIntegerField(blank=True, null=True)),
        migrations.RunSQL(COUNT_UNPRICED, migrations.RunSQL.noop),
    ]
