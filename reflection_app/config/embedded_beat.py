"""Celery's beat as a thread of a worker: `celery worker --with-beat FILE`. Only one worker may have it.

Celery's own `--beat` would start a process, with the memory of a second worker.
"""

import logging
import os
import signal
import threading
from typing import Any

from celery.beat import Service
from celery.bootsteps import StartStopStep

log = logging.getLogger(__name__)


class EmbeddedBeat(StartStopStep):
    """Starts with the worker and ends with it. If beat fails, so does the worker, and both are started again."""

    def __init__(self, worker: Any, *, with_beat: str | None = None, **options: Any) -> None:
        super().__init__(worker, **options)
        self.enabled = bool(with_beat)
        self.schedule = with_beat
        self.service: Service | None = None

    def start(self, parent: Any) -> None:
        """Send repeated tasks from now on."""
        self.service = Service(parent.app, schedule_filename=self.schedule)
        threading.Thread(target=self._send, args=(self.service,), name="beat", daemon=True).start()

    def stop(self, parent: Any) -> None:
        """Send no more. The thread ends after its present pause."""
        if self.service is not None:
            self.service.stop()

    def terminate(self, parent: Any) -> None:
        """As `stop`."""
        self.stop(parent)

    def _send(self, service: Service) -> None:
        try:
            service.start()
        except Exception:
            log.exception("beat failed, and stops its worker")
            os.kill(os.getpid(), signal.SIGTERM)
