"""All tables, for Django, which looks for them here. Each is imported from its own subject."""

import importlib

for subject in ("core", "tasks", "runs", "reviews", "repairs", "sessions", "metrics", "teams"):
    importlib.import_module(f"reflection_app.{subject}.models")
