from typing import Any

from django.db import migrations, models


def drop_rows(apps: Any, schema_editor: Any) -> None:
    """Delete the spans of which no session was made, and the labels of kinds that nothing learns from."""
    apps.get_model("reflection_app", "Label").objects.filter(kind__in=("error_class", "proposal")).delete()
    apps.get_model("reflection_app", "AgentTrace").objects.filter(tells_of_agents=False).delete()
    # PostgreSQL alters no table with pending checks.
    schema_editor.execute("SET CONSTRAINTS ALL IMMEDIATE")


class Migration(migrations.Migration):
    dependencies = [("reflection_app", "0047_no_referee_measurements")]
    operations = [
        migrations.AlterField(
            model_name="label",
            name="kind",
            field=models.CharField(
                choices=[
                    ("does_not_know", "Does Not Know"),
                    ("same_mistake", "Same Mistake"),
                    ("tool_error", "Tool Error"),
                    ("entry_pair", "Entry Pair"),
                    ("screening", "Screening"),
                ],
                max_length=20,
            ),
        ),
        migrations.DeleteModel(name="DayCount"),
        migrations.DeleteModel(name="DayFigure"),
        migrations.DeleteModel(name="DaySpend"),
        migrations.RemoveField(model_name="runfigure", name="latency"),
        migrations.RemoveField(model_name="runfigure", name="referee"),
        migrations.RunPython(drop_rows, migrations.RunPython.noop, elidable=True),
        migrations.RemoveIndex(model_name="agentspan", name="agent_span_unread"),
        migrations.RemoveIndex(model_name="agentspan", name="agent_span_unread_trace"),
        migrations.RemoveField(model_name="agentspan", name="unread"),
        migrations.RemoveField(model_name="agenttrace", name="tells_of_agents"),
    ]
