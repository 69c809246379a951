from typing import Any

from django.core.management.base import BaseCommand

from reflection_app.config.up.desk import run_desk


class Command(BaseCommand):
    # manage.py runs it without loading Django's apps; this class is what `manage.py help` finds.
    help = "Starts the whole desk on this machine: database, broker, model, web and workers. Ctrl-C stops it."
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        run_desk()
