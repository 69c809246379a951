"""An entry in the words in which models are told it. Pure."""

from notebook_app.boundary import Told
from notebook_app.shown import KeptEntry

# What its fields are called in a prompt; those that are not named here are called as they are.
LABELS = {"error_type": "error", "suggested_tools": "tools"}


def told_of(entry: KeptEntry, *, times: int = 1) -> Told:
    """The entry's words as a list can hold them; `times` is shown where it is more than one."""
    lines = [entry.description.strip(), entry.content.strip()]
    for name, value in entry.details.items():
        said = "; ".join(value) if isinstance(value, list) else str(value)
        lines.append(f"{LABELS.get(name, name)}: {said}")
    # Entries that say one thing twice, such as a name repeated as the description, are told it once.
    kept = dict.fromkeys(line for line in lines if line and line != entry.name)
    return Told(entry.name, "\n".join(kept), times=times)
