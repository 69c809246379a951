"""The Celery application. Tasks live in reflection_app/runs/jobs.py and jobs.py, and stay thin."""

import os

from celery import Celery
from celery.signals import beat_init, worker_init
from click import Option

from reflection_app.config.embedded_beat import EmbeddedBeat

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "reflection_app.config.settings")

app = Celery("reflection_desk")
# "Current" holds for one thread only; pages and tasks enqueue from others.
app.set_default()
app.config_from_object("django.conf:settings", namespace="CELERY")
app.user_options["worker"].add(
    Option(["--with-beat"], metavar="FILE", help="also send the repeated tasks, remembered in this schedule file")
)
app.steps["worker"].add(EmbeddedBeat)
app.autodiscover_tasks(["reflection_app.runs"], related_name="jobs")
app.autodiscover_tasks(["reflection_app.config"], related_name="jobs")


@worker_init.connect
@beat_init.connect
def refuse_a_newer_database(**_: object) -> None:
    # Imported when it is needed: this module is loaded while Django is being set up.
    from reflection_app.config.services import exit_if_database_is_newer

    exit_if_database_is_newer()
