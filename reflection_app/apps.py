from importlib import import_module

from django.apps import AppConfig
from django.conf import settings

from desk_sandbox import share_memory
from desk_sandbox.limits import MEBIBYTE

# Modules with receivers of the signals of core/rights.py.
LISTENING = ("reviews.ending", "queues.changing", "comparisons.claiming", "runs.agent_leases", "notebook.ending")


class ReflectionAppConfig(AppConfig):
    name = "reflection_app"
    label = "reflection_app"

    def ready(self) -> None:
        # Whoever enqueues, be it a page or a command, has to find our Celery application and not Celery's fallback,
        # which would look for a broker on localhost.
        import_module("reflection_app.config.celery")
        share_memory(settings.DATA_DIR / "sandbox-memory", most_bytes=settings.SANDBOX_MEMORY_MB * MEBIBYTE)
        for module in import_module("reflection_app.runs.following").SUBJECTS:
            import_module(f"reflection_app.{module}")
        for module in LISTENING:
            import_module(f"reflection_app.{module}")
        import_module("reflection_app.teams.pages.login").listen()
        words_changed = import_module("notebook_app.versions").words_changed
        words_changed.connect(_embed_soon, dispatch_uid="embed-soon")


def _embed_soon(**told: object) -> None:
    # Imported when it is needed: the tasks import all that runs.
    import_module("reflection_app.runs.jobs").embed_soon(**told)
