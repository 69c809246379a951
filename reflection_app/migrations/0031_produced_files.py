import django.db.models.deletion
import reflection_app.core.ids
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("reflection_app", "0030_keys"),
    ]

    operations = [
        migrations.AddField(
            model_name="attachment",
            name="claimed",
            field=models.CharField(blank=True, default="", max_length=200),
        ),
        migrations.AddField(
            model_name="attemptattachment",
            name="claimed",
            field=models.CharField(blank=True, default="", max_length=200),
        ),
        migrations.CreateModel(
            name="ProducedFile",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=reflection_app.core.ids.new_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("place", models.PositiveSmallIntegerField()),
                ("name", models.CharField(max_length=200)),
                ("facts", models.JSONField(blank=True, null=True)),
                (
                    "attachment",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="produced",
                        to="reflection_app.attachment",
                    ),
                ),
                (
                    "attempt",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="looked_at",
                        to="reflection_app.attempt",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="produced_files",
                        to="reflection_app.run",
                    ),
                ),
                (
                    "step",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="produced_files",
                        to="reflection_app.step",
                    ),
                ),
            ],
            options={
                "ordering": ("place",),
                "constraints": [
                    models.UniqueConstraint(fields=("run", "step", "place"), name="produced_once", nulls_distinct=False)
                ],
            },
        ),
    ]
