"""A span as the rest of the desk knows it, whichever way it was sent."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# Where instrumentations of agents write: the GenAI conventions, and the older names of OpenLLMetry.
OF_AGENTS = ("gen_ai.", "traceloop.", "llm.")


@dataclass(frozen=True)
class SpanEvent:
    name: str
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Span:
    """One span. Ids are lower-case hex; `parent_id` is empty for a root, and times are nanoseconds since 1970."""

    trace_id: str
    span_id: str
    parent_id: str = ""
    name: str = ""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    events: tuple[SpanEvent, ...] = ()
    service: str = ""
    is_error: bool = False
    status_message: str = ""
    start_ns: int = 0
    end_ns: int = 0

    @property
    def tells_of_agents(self) -> bool:
        """Whether it says anything by the conventions for agents and their models."""
        return any(name.startswith(OF_AGENTS) for name in self.attributes) or any(
            event.name.startswith(OF_AGENTS) for event in self.events
        )
