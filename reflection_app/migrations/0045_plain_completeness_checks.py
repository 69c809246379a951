"""Completeness checks are on, sampled or off; their economics and groups by meaning go.

Dropped, as the CHANGELOG says: settings of kinds of tasks, hold-outs and their outcomes, suggestions and their
notifications, estimates, and the groups of supplements in other words. Supplements recur by their own words, which are
stored with them.
"""

from django.db import migrations, models

DROPPED = ("enabled", "least_share", "holdout_share", "least_worth", "max_cost_per_completed_usd")
WHEN = {"always": "on", "sampled": "sampled", "never": "off"}


def simplify_settings(apps, _schema_editor):
    Project = apps.get_model("reflection_app", "Project")
    for project in Project.objects.exclude(completeness={}).only("completeness").iterator():
        stored = project.completeness
        kept = {name: value for name, value in stored.items() if name not in DROPPED}
        if "when" in kept:
            kept["when"] = WHEN.get(kept["when"], kept["when"])
        if stored.get("enabled") is False:
            kept["when"] = "off"
        elif stored.get("enabled") is True:
            # The server has it off, and the project does not.
            kept.setdefault("when", "on")
        if kept != stored:
            project.completeness = kept
            project.save(update_fields=["completeness"])


def delete_notifications(apps, _schema_editor):
    apps.get_model("reflection_app", "Notification").objects.filter(kind="checks_suggested").delete()


class Migration(migrations.Migration):
    dependencies = [
        ("reflection_app", "0044_label_imports"),
    ]

    operations = [
        migrations.RunPython(simplify_settings, migrations.RunPython.noop),
        migrations.RunPython(delete_notifications, migrations.RunPython.noop),
        # PostgreSQL alters no table whose rows have deferred checks waiting.
        migrations.RunSQL("SET CONSTRAINTS ALL IMMEDIATE", migrations.RunSQL.noop),
        migrations.RemoveField("project", "completeness_by_kind"),
        migrations.RemoveField("supplement", "estimate"),
        migrations.RemoveField("supplement", "group"),
        migrations.DeleteModel("SupplementGroup"),
        migrations.DeleteModel("CheckDraw"),
        migrations.DeleteModel("CheckSuggestion"),
        migrations.AlterField(
            model_name='notification',
            name='about',
            field=models.CharField(choices=[('review', 'Review'), ('run', 'Run'), ('entry', 'Notebook entry'), ('webhook', 'Webhook'), ('channel', 'Channel'), ('question', 'Question')], max_length=8),
        ),
        migrations.AlterField(
            model_name='notification',
            name='kind',
            field=models.CharField(choices=[('mentioned', 'Mentioned'), ('commented', 'Commented on'), ('assigned', 'Assigned'), ('handed_over', 'Handed over'), ('adjudication', 'Opinions differ'), ('decision_undone', 'Decision taken back'), ('webhook_paused', 'Webhook paused'), ('webhook_gone', 'Webhook switched off'), ('channel_off', 'Channel switched off'), ('overdue', 'Overdue'), ('entry_flagged', 'Entry flagged')], max_length=16),
        ),
    ]
