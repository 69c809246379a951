"""Which prompts were changed since a run began."""

from collections.abc import Mapping

from reflection_app.loops.prompts import versions


def changed_since(recorded: Mapping[str, str]) -> list[str]:
    """The names of the prompts that read otherwise than in `recorded`, or are no more; new ones are no change."""
    today = versions()
    return sorted(name for name, version in recorded.items() if today.get(name) != version)
