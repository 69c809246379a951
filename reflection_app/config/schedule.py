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


# Task, how often in seconds, and after how many seconds a message that nobody took is dropped.
REPEATED = (
    ("config.jobs.sweep_bulk", 30.0, 30),
    ("config.jobs.embed_entries", 10.0, 10),
    ("config.jobs.sweep_imports", 30.0, 30),
    ("config.jobs.index_entries", 60.0, 60),
    ("config.jobs.compare_entries", 10.0, 10),
    ("config.jobs.sum_recalls", 5.0, 5),
    ("runs.jobs.begin_looking_back", 5.0, 5),
    ("config.jobs.figure_runs", 5.0, 5),
    ("config.jobs.assemble_traces", 5.0, 5),
    ("config.jobs.forget_spans", 3600.0, 3600),
    ("config.jobs.sweep_attachments", 3600.0, 3600),
    ("config.jobs.lapse", 60.0, 60),
    ("config.jobs.send_mail", 30.0, 30),
    ("config.jobs.send_digests", 300.0, 300),
    ("config.jobs.escalate", 30.0, 30),
    ("config.jobs.send_channels", 5.0, 10),
    ("config.jobs.keep", 3600.0, 3600),
    ("config.jobs.sweep_deleted", 60.0, 60),
    ("config.jobs.send_webhooks", 2.0, 10),
    ("config.jobs.tidy_webhooks", 3600.0, 3600),
    ("runs.jobs.tidy", 3600.0, 3600),
)


def beat_schedule(sweep_interval_s: float) -> dict[str, dict[str, Any]]:
    """What beat asks the workers for, and how often. What nobody took in time is not done twice as much later."""
    repeated = (("runs.jobs.sweep", sweep_interval_s, 60), *REPEATED)
    return {
        task: {"task": f"reflection_app.{task}", "schedule": every_s, "options": {"expires": expires_s}}
        for task, every_s, expires_s in repeated
    }
