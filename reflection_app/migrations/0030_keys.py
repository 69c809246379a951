from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("reflection_app", "0029_demo"),
    ]

    operations = [
        migrations.AddField(
            model_name="profile",
            name="review_keys",
            field=models.JSONField(blank=True, default=dict),
        ),
    ]
