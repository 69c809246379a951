from typing import Any

from django.db import migrations


def drop_former_setting(apps: Any, _schema_editor: Any) -> None:
    for project in apps.get_model("reflection_app", "Project").objects.exclude(notebook={}).only("notebook"):
        if project.notebook.pop("keeps_labels", None) is not None:
            project.save(update_fields=["notebook"])


def drop_traces_of_no_agents(apps: Any, schema_editor: Any) -> None:
    """Delete the spans that were stored to be looked at: no session was made of them."""
    apps.get_model("reflection_app", "AgentTrace").objects.filter(tells_of_agents=False).delete()
    # PostgreSQL alters no table with pending checks.
    schema_editor.execute("SET CONSTRAINTS ALL IMMEDIATE")


class Migration(migrations.Migration):
    dependencies = [("reflection_app", "0055_queues_by_members")]
    operations = [
        migrations.DeleteModel(name="Label"),
        migrations.DeleteModel(name="DayCount"),
        migrations.DeleteModel(name="DayFigure"),
        migrations.DeleteModel(name="DaySpend"),
        migrations.RemoveField(model_name="runfigure", name="latency"),
        migrations.RemoveField(model_name="runfigure", name="referee"),
        migrations.RunPython(drop_former_setting, migrations.RunPython.noop, elidable=True),
        migrations.RunPython(drop_traces_of_no_agents, migrations.RunPython.noop, elidable=True),
        migrations.RemoveIndex(model_name="agentspan", name="agent_span_unread"),
        migrations.RemoveIndex(model_name="agentspan", name="agent_span_unread_trace"),
        migrations.RemoveField(model_name="agentspan", name="unread"),
        migrations.RemoveField(model_name="agenttrace", name="tells_of_agents"),
    ]
