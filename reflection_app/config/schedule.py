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
# Task, its queue, how often in seconds it is asked for, and after how many seconds a message is dropped.
REPEATED = (
    ("config.jobs.sweep_bulk", FRESH, 30.0, 30),
    ("config.jobs.sweep_imports", FRESH, 30.0, 30),
    ("config.jobs.embed_entries", NOTEBOOK, 10.0, 10),
    ("config.jobs.send_webhooks", WEBHOOKS, 3.0, 10),
    ("config.jobs.send_channels", WEBHOOKS, 3.0, 10),
    ("runs.jobs.begin_looking_back", HOUSEKEEPING, 5.0, 5),
    ("config.jobs.index_entries", HOUSEKEEPING, 60.0, 60),
    ("config.jobs.sum_recalls", HOUSEKEEPING, 5.0, 5),
    ("config.jobs.figure_runs", HOUSEKEEPING, 5.0, 5),
    ("config.jobs.assemble_traces", HOUSEKEEPING, 5.0, 5),
    ("config.jobs.forget_spans", HOUSEKEEPING, 3600.0, 3600),
    ("config.jobs.sweep_attachments", HOUSEKEEPING, 3600.0, 3600),
    ("config.jobs.lapse", HOUSEKEEPING, 60.0, 60),
    ("config.jobs.send_mail", HOUSEKEEPING, 30.0, 30),
    ("config.jobs.send_digests", HOUSEKEEPING, 300.0, 300),
    ("config.jobs.escalate", HOUSEKEEPING, 30.0, 30),
    ("config.jobs.keep", HOUSEKEEPING, 3600.0, 3600),
    ("config.jobs.sweep_deleted", HOUSEKEEPING, 60.0, 60),
    ("config.jobs.tidy_webhooks", HOUSEKEEPING, 3600.0, 3600),
    ("runs.jobs.tidy", HOUSEKEEPING, 3600.0, 3600),
)
QUEUE_OF = {task: queue for task, queue, _every_s, _expires_s in REPEATED} | {
    "runs.jobs.sweep": SWEEP,
    # Asked for after each embedding.
    "config.jobs.compare_entries": HOUSEKEEPING,
    "config.jobs.send_to_webhook": WEBHOOKS,
    "config.jobs.send_to_channel": WEBHOOKS,
    "config.jobs.work_retention": HOUSEKEEPING,
    "config.jobs.take_away": HOUSEKEEPING,
}
ROUTES = {f"reflection_app.{task}": {"queue": queue} for task, queue in QUEUE_OF.items()}


# Carries out several repeated tasks that one message asks for.
REPEAT = "reflection_app.config.jobs.repeat"


def beat_schedule(sweep_interval_s: float) -> dict[str, dict[str, Any]]:
    """Return Celery's beat schedule. A message that no worker takes in time expires, and the next one follows.

    Tasks of one queue and interval share a message: an idle server spends most of its CPU on sending and taking them.
    """
    together: dict[tuple[str, float, int], list[str]] = {}
    for task, queue, every_s, expires_s in (("runs.jobs.sweep", SWEEP, sweep_interval_s, 60), *REPEATED):
        together.setdefault((queue, every_s, expires_s), []).append(f"reflection_app.{task}")
    return {
        f"{queue}, every {every_s:g} s": {
            "task": REPEAT if len(tasks) > 1 else tasks[0],
            "args": tasks if len(tasks) > 1 else (),
            "schedule": every_s,
            "options": {"queue": queue, "expires": expires_s},
        }
        for (queue, every_s, expires_s), tasks in together.items()
    }
