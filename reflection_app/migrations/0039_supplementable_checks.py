from django.db import migrations, models

# Checks of submitted histories carry nothing out; all others that found something missing could be supplemented.
COUNT = """
UPDATE reflection_app_runfigure SET checks_supplementable = checks_incomplete
WHERE mode <> 'completeness_check' AND checks_incomplete > 0;

UPDATE reflection_app_dayfigure SET checks_supplementable = checks_incomplete
WHERE NOT is_total AND mode <> 'completeness_check' AND checks_incomplete > 0;

UPDATE reflection_app_dayfigure total SET checks_supplementable = part.checks
FROM (
    SELECT project_id, day, is_scripted, sum(checks_supplementable) AS checks
    FROM reflection_app_dayfigure WHERE NOT is_total GROUP BY project_id, day, is_scripted
) part
WHERE total.is_total AND total.project_id = part.project_id AND total.day = part.day
    AND total.is_scripted = part.is_scripted AND part.checks > 0;
"""


class Migration(migrations.Migration):
    dependencies = [("reflection_app", "0038_entry_flagged")]

    operations = [
        migrations.AddField("dayfigure", "checks_supplementable", models.BigIntegerField(default=0)),
        migrations.AddField("runfigure", "checks_supplementable", models.BigIntegerField(default=0)),
        migrations.RunSQL(COUNT, migrations.RunSQL.noop),
    ]
