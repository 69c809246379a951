"""Why something was left out, in words: the registry's sentence with its parameters."""

from django.utils import translation

from reflection_app.core.registry import look_of
from reflection_app.loops.completeness.dropped import Dropped


def why_dropped(dropped: Dropped) -> str:
    """Return the reason in the reader's language; what was recorded without a code, as it was recorded."""
    if not dropped.code:
        return dropped.why
    sentence = str(look_of(dropped.code.value, "dropped").words)
    try:
        return sentence % dropped.parameters
    except KeyError:
        # A person edited the journal in a fork, or the code had other parameters when it was recorded.
        return sentence


def why_dropped_in_english(dropped: Dropped) -> str:
    """Return the reason as programs read it, whatever the reader's language."""
    with translation.override("en"):
        return why_dropped(dropped)
