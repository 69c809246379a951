import reflection_app.models.identifiers
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("reflection_app", "0008_referee_measurements")]

    operations = [
        migrations.AddField("run", "worker_deaths", models.PositiveSmallIntegerField(default=0)),
        migrations.CreateModel(
            "LookBackDue",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=reflection_app.models.identifiers.new_id,
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
    ]
