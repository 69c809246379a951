"""All tables, for Django, which looks for them here. Whoever uses one imports it from its own subject."""

import importlib

TABLES = ("core.models", "core.audit", "runs.events", *(
    f"{subject}.models"
    for subject in (
        *("tasks", "runs", "reviews", "rubrics", "repairs", "sessions", "metrics", "teams", "alerts", "search"),
        *("attachments", "comparisons", "queues"),
    )
))  # fmt: skip

for module in TABLES:
    importlib.import_module(f"reflection_app.{module}")
