import asyncio
import sys
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from reflection_app.config.up.desk import Desk
from reflection_app.config.up.engines import EmbeddedEngineError
from reflection_app.config.up.preconditions import Refused, sole_use
from reflection_app.config.up.processes import JointLog
from reflection_app.config.up.supervisor import NotStarted


class Command(BaseCommand):
    help = "Starts the whole desk on this machine: database, broker, model, web, worker and beat. Ctrl-C stops it."
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            with sole_use(settings.DATA_DIR):
                asyncio.run(Desk(log=JointLog(sys.stdout, folder=settings.DATA_DIR / "logs")).run())
        except (Refused, EmbeddedEngineError, NotStarted) as problem:
            sys.exit(str(problem))
