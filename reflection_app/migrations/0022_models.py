from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [('reflection_app', '0021_handing_in')]

    operations = [
        migrations.AddField(
            model_name='run', name='asked_waits', field=models.PositiveSmallIntegerField(default=0)
        ),
        migrations.AddField(model_name='run', name='asked_wait_s', field=models.FloatField(default=0.0)),
        migrations.AddField(
            model_name='idempotentanswer', name='etag', field=models.CharField(blank=True, default='', max_length=40)
        ),
    ]
