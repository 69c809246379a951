import django.db.models.deletion
import reflection_app.core.ids
from django.db import migrations, models


def within(model: str, name: str, *, of: str) -> migrations.AlterField:
    """A reference without an index of its own, where a wider one begins with it."""
    cascade = django.db.models.deletion.CASCADE
    field = models.ForeignKey(
        db_index=False, on_delete=cascade, related_name=f"{model}s", to=f"reflection_app.{of}"
    )
    return migrations.AlterField(model, name, field)


class Migration(migrations.Migration):
    dependencies = [("reflection_app", "0008_referee_measurements")]

    operations = [
        migrations.AddField("run", "worker_deaths", models.PositiveSmallIntegerField(default=0)),
        migrations.AddField("step", "owes_notebook", models.BooleanField(default=False)),
        migrations.CreateModel(
            "LookBackDue",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=reflection_app.core.ids.new_id,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("run_id", models.UUIDField()),
            ],
            options={"indexes": [models.Index(fields=["run_id"], name="look_back_of_run")]},
        ),
        migrations.AddIndex(
            "delivery",
            models.Index(
                fields=["webhook", "next_at", "id"],
                condition=models.Q(("state", "waiting"), models.Q(("type__startswith", "step."), _negated=True)),
                name="delivery_due_first",
            ),
        ),
        within("attempt", "run", of="run"),
        within("event", "run", of="run"),
        within("run", "project", of="project"),
        within("run", "task", of="task"),
        within("step", "run", of="run"),
        within("ticket", "project", of="project"),
        within("ticket", "run", of="run"),
    ]
