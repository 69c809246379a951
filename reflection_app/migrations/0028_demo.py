from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("reflection_app", "0021_handing_in"),
    ]

    operations = [
        migrations.AddField(
            model_name="project",
            name="is_demo",
            field=models.BooleanField(default=False, editable=False),
        ),
        migrations.AddConstraint(
            model_name="project",
            constraint=models.UniqueConstraint(
                condition=models.Q(("deleted_at__isnull", True), ("is_demo", True)),
                fields=("is_demo",),
                name="project_one_demo",
            ),
        ),
    ]
