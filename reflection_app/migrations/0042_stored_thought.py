import reflection_app.runs.models
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("reflection_app", "0041_tool_permission")]

    operations = [
        migrations.AddField(
            model_name="attempt",
            name="stored_thought",
            field=reflection_app.runs.models.ThoughtField(blank=True, editable=False, null=True),
        ),
    ]
