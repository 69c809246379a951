import django.db.models.deletion
from django.db import migrations, models

# An import that was previewed and never applied holds no verdicts.
# The deferred check of its foreign keys is done at once, since a table with a pending check cannot be altered.
DELETE_PREVIEWS = """
DELETE FROM reflection_app_judgementimport WHERE applied_at IS NULL;
SET CONSTRAINTS ALL IMMEDIATE;
SET CONSTRAINTS ALL DEFERRED;
"""


class Migration(migrations.Migration):
    dependencies = [("reflection_app", "0043_agents_composed")]

    operations = [
        migrations.RunSQL(DELETE_PREVIEWS, migrations.RunSQL.noop),
        migrations.RemoveField(model_name="judgementimport", name="rows"),
        migrations.RemoveField(model_name="judgementimport", name="outcome"),
        migrations.RemoveField(model_name="judgementimport", name="applied_at"),
        migrations.AlterField(
            model_name="criticjudgement",
            name="batch",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="judgements",
                to="reflection_app.judgementimport",
            ),
        ),
        migrations.AddField(
            model_name="personsjudgement",
            name="batch",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="reflection_app.judgementimport",
            ),
        ),
    ]
