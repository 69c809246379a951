"""The Celery application. Tasks live in reflection_app/tasks.py and jobs.py, and stay thin."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "reflection_app.config.settings")

app = Celery("reflection_desk")
# "Current" holds for one thread only; pages and tasks enqueue from others.
app.set_default()
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["reflection_app"])
app.autodiscover_tasks(["reflection_app"], related_name="jobs")
