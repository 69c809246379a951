"""The workers' queues, what goes into which, and what is done again and again."""

from typing import Any

from kombu import Queue

# The sweep has a queue of its own: behind a long backlog of runs it would come too late. Workers take turns at both.
QUEUES = (Queue("desk"), Queue("sweep"), Queue("notebook"), Queue("webhooks"))
ROUTES = {
    "reflection_app.tasks.sweep": {"queue": "sweep"},
    # Nor need an entry that was just proposed wait for them, to be found.
    "reflection_app.jobs.embed_entries": {"queue": "notebook"},
    # Nor what receivers wait for, of whom one may be slow.
    "reflection_app.jobs.send_webhooks": {"queue": "webhooks"},
    "reflection_app.jobs.send_to_webhook": {"queue": "webhooks"},
}


def beat_schedule(sweep_interval_s: float) -> dict[str, dict[str, Any]]:
    """What beat asks the workers for, and how often. What nobody took in time is not done twice as much later."""
    return {
        "sweep": {"task": "reflection_app.tasks.sweep", "schedule": sweep_interval_s, "options": {"expires": 60}},
        "sweep-bulk": {"task": "reflection_app.jobs.sweep_bulk", "schedule": 30.0, "options": {"expires": 30}},
        "embed-entries": {"task": "reflection_app.jobs.embed_entries", "schedule": 10.0, "options": {"expires": 10}},
        "sweep-imports": {"task": "reflection_app.jobs.sweep_imports", "schedule": 30.0, "options": {"expires": 30}},
        "index-entries": {"task": "reflection_app.jobs.index_entries", "schedule": 60.0, "options": {"expires": 60}},
        "compare-entries": {
            "task": "reflection_app.jobs.compare_entries",
            "schedule": 10.0,
            "options": {"expires": 10},
        },
        "figure-runs": {"task": "reflection_app.jobs.figure_runs", "schedule": 5.0, "options": {"expires": 5}},
        "assemble-traces": {"task": "reflection_app.jobs.assemble_traces", "schedule": 5.0, "options": {"expires": 5}},
        "forget-spans": {"task": "reflection_app.jobs.forget_spans", "schedule": 3600.0, "options": {"expires": 3600}},
        "lapse": {"task": "reflection_app.jobs.lapse", "schedule": 60.0, "options": {"expires": 60}},
        "mail": {"task": "reflection_app.jobs.send_mail", "schedule": 30.0, "options": {"expires": 30}},
        "keep": {"task": "reflection_app.jobs.keep", "schedule": 3600.0, "options": {"expires": 3600}},
        "sweep-deleted": {"task": "reflection_app.jobs.sweep_deleted", "schedule": 60.0, "options": {"expires": 60}},
        "webhooks": {"task": "reflection_app.jobs.send_webhooks", "schedule": 2.0, "options": {"expires": 10}},
        "tidy-webhooks": {
            "task": "reflection_app.jobs.tidy_webhooks",
            "schedule": 3600.0,
            "options": {"expires": 3600},
        },
        "tidy": {"task": "reflection_app.tasks.tidy", "schedule": 3600.0, "options": {"expires": 3600}},
    }
