"""The workers' queues, what goes into which, and what is done again and again."""

from typing import Any

from kombu import Queue

# Runs that people or pipelines wait for, and what is done at once for whoever pressed a button.
FRESH = "desk"
# What the desk does by itself about work that has ended.
LOOKING_BACK = "looking-back"
# The sweep has a queue of its own: behind a long backlog of runs it would come too late.
SWEEP = "sweep"
# Nor need an entry that was just proposed wait for them, to be found.
NOTEBOOK = "notebook"
# Nor what receivers wait for, of whom one may be slow.
WEBHOOKS = "webhooks"
# What nobody waits for, such as figures and deletions.
HOUSEKEEPING = "housekeeping"

# Where there are several worker processes, one looks back and keeps house, and the others are there for fresh work;
# a worker takes turns at its queues.
OF_FRESH_WORKERS = (SWEEP, FRESH, NOTEBOOK, WEBHOOKS)
OF_THE_WORKER_BEHIND = (SWEEP, LOOKING_BACK, NOTEBOOK, WEBHOOKS, HOUSEKEEPING)

QUEUES = tuple(Queue(name) for name in (FRESH, LOOKING_BACK, SWEEP, NOTEBOOK, WEBHOOKS, HOUSEKEEPING))
QUEUE_OF = {
    "runs.jobs.sweep": SWEEP,
    "config.jobs.embed_entries": NOTEBOOK,
    "config.jobs.send_webhooks": WEBHOOKS,
    "config.jobs.send_to_webhook": WEBHOOKS,
    "config.jobs.send_channels": WEBHOOKS,
    "config.jobs.send_to_channel": WEBHOOKS,
    "runs.jobs.begin_looking_back": LOOKING_BACK,
    "runs.jobs.tidy": HOUSEKEEPING,
    "config.jobs.index_entries": HOUSEKEEPING,
    "config.jobs.compare_entries": HOUSEKEEPING,
    "config.jobs.sum_recalls": HOUSEKEEPING,
    "config.jobs.figure_runs": HOUSEKEEPING,
    "config.jobs.assemble_traces": HOUSEKEEPING,
    "config.jobs.forget_spans": HOUSEKEEPING,
    "config.jobs.sweep_attachments": HOUSEKEEPING,
    "config.jobs.lapse": HOUSEKEEPING,
    "config.jobs.send_mail": HOUSEKEEPING,
    "config.jobs.send_digests": HOUSEKEEPING,
    "config.jobs.escalate": HOUSEKEEPING,
    "config.jobs.keep": HOUSEKEEPING,
    "config.jobs.work_retention": HOUSEKEEPING,
    "config.jobs.sweep_deleted": HOUSEKEEPING,
    "config.jobs.take_away": HOUSEKEEPING,
    "config.jobs.tidy_webhooks": HOUSEKEEPING,
}
ROUTES = {f"reflection_app.{task}": {"queue": queue} for task, queue in QUEUE_OF.items()}


def beat_schedule(sweep_interval_s: float) -> dict[str, dict[str, Any]]:
    """What beat asks the workers for, and how often. What nobody took in time is not done twice as much later."""
    return {
        "sweep": {"task": "reflection_app.runs.jobs.sweep", "schedule": sweep_interval_s, "options": {"expires": 60}},
        "sweep-bulk": {"task": "reflection_app.config.jobs.sweep_bulk", "schedule": 30.0, "options": {"expires": 30}},
        "embed-entries": {
            "task": "reflection_app.config.jobs.embed_entries",
            "schedule": 10.0,
            "options": {"expires": 10},
        },
        "sweep-imports": {
            "task": "reflection_app.config.jobs.sweep_imports",
            "schedule": 30.0,
            "options": {"expires": 30},
        },
        "index-entries": {
            "task": "reflection_app.config.jobs.index_entries",
            "schedule": 60.0,
            "options": {"expires": 60},
        },
        "compare-entries": {
            "task": "reflection_app.config.jobs.compare_entries",
            "schedule": 10.0,
            "options": {"expires": 10},
        },
        "sum-recalls": {"task": "reflection_app.config.jobs.sum_recalls", "schedule": 5.0, "options": {"expires": 5}},
        "look-back": {
            "task": "reflection_app.runs.jobs.begin_looking_back",
            "schedule": 5.0,
            "options": {"expires": 5},
        },
        "figure-runs": {"task": "reflection_app.config.jobs.figure_runs", "schedule": 5.0, "options": {"expires": 5}},
        "assemble-traces": {
            "task": "reflection_app.config.jobs.assemble_traces",
            "schedule": 5.0,
            "options": {"expires": 5},
        },
        "forget-spans": {
            "task": "reflection_app.config.jobs.forget_spans",
            "schedule": 3600.0,
            "options": {"expires": 3600},
        },
        "sweep-attachments": {
            "task": "reflection_app.config.jobs.sweep_attachments",
            "schedule": 3600.0,
            "options": {"expires": 3600},
        },
        "lapse": {"task": "reflection_app.config.jobs.lapse", "schedule": 60.0, "options": {"expires": 60}},
        "mail": {"task": "reflection_app.config.jobs.send_mail", "schedule": 30.0, "options": {"expires": 30}},
        "digests": {"task": "reflection_app.config.jobs.send_digests", "schedule": 300.0, "options": {"expires": 300}},
        "escalate": {"task": "reflection_app.config.jobs.escalate", "schedule": 30.0, "options": {"expires": 30}},
        "channels": {"task": "reflection_app.config.jobs.send_channels", "schedule": 5.0, "options": {"expires": 10}},
        "keep": {"task": "reflection_app.config.jobs.keep", "schedule": 3600.0, "options": {"expires": 3600}},
        "sweep-deleted": {
            "task": "reflection_app.config.jobs.sweep_deleted",
            "schedule": 60.0,
            "options": {"expires": 60},
        },
        "webhooks": {"task": "reflection_app.config.jobs.send_webhooks", "schedule": 2.0, "options": {"expires": 10}},
        "tidy-webhooks": {
            "task": "reflection_app.config.jobs.tidy_webhooks",
            "schedule": 3600.0,
            "options": {"expires": 3600},
        },
        "tidy": {"task": "reflection_app.runs.jobs.tidy", "schedule": 3600.0, "options": {"expires": 3600}},
    }
