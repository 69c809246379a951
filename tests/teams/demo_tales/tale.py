"""What a tale of the demo is made of: a task, a good answer, a flawed one, and what is wrong with that."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Fault:
    description: str
    fix: str
    category: str = "completeness"
    severity: str = "high"


@dataclass(frozen=True)
class Tale:
    """`vary` are words of it, each with what may stand in its place when it is told again."""

    name: str
    agent: str
    objective: str
    good: str
    flawed: str
    kind: str = ""
    faults: tuple[Fault, ...] = ()
    praise: str = ""
    # What a person says of the flawed answer, and of the good one.
    complaint: str = ""
    approval: str = ""
    task: Mapping[str, Any] = field(default_factory=dict)
    # Further answers of the script, by the key of the step.
    answers: Mapping[str, str] = field(default_factory=dict)
    vary: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    phase: str = ""
