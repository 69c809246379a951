"""The one place that reads the environment. Every variable is declared here, with its meaning, and checked at start.

`DOCUMENTED` feeds the settings table of the README (a test compares them) and the allow-list of what the web
process may see: provider keys are not declared here, so that only workers ever have them.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import overload

from django.core.exceptions import ImproperlyConfigured

PROJECT_DIR = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Variable:
    name: str
    default: str
    meaning: str
    section: str


DOCUMENTED: dict[str, Variable] = {}
_sections = [""]


def section(title: str) -> None:
    """Document the variables that are read from here on under this title."""
    _sections[0] = title


def _read(name: str, default: str, meaning: str, environ: Mapping[str, str] | None) -> str:
    DOCUMENTED[name] = Variable(name, default, meaning, _sections[0])
    value = (os.environ if environ is None else environ).get(name, "").strip()
    return value or default


def text(name: str, default: str, meaning: str, *, environ: Mapping[str, str] | None = None) -> str:
    """The variable's value, or `default` where it is unset or blank."""
    return _read(name, default, meaning, environ)


@overload
def number(
    name: str,
    default: int,
    meaning: str,
    *,
    at_least: int = 0,
    at_most: int | None = None,
    environ: Mapping[str, str] | None = None,
) -> int: ...
@overload
def number(
    name: str,
    default: float,
    meaning: str,
    *,
    at_least: float = 0,
    at_most: float | None = None,
    environ: Mapping[str, str] | None = None,
) -> float: ...
def number(
    name: str,
    default: float,
    meaning: str,
    *,
    at_least: float = 0,
    at_most: float | None = None,
    environ: Mapping[str, str] | None = None,
) -> float:
    """The variable as a number of `default`'s type. Raises ImproperlyConfigured where it is none or out of bounds."""
    raw = _read(name, str(default), meaning, environ)
    kind: Callable[[str], float] = type(default)
    try:
        value = kind(raw)
    except ValueError:
        raise ImproperlyConfigured(f"{name}={raw!r} is not a number. {meaning}") from None
    if value < at_least:
        raise ImproperlyConfigured(f"{name}={raw} is below {at_least}. {meaning}")
    if at_most is not None and value > at_most:
        raise ImproperlyConfigured(f"{name}={raw} is above {at_most}. {meaning}")
    return value


def flag(name: str, *, default: bool, meaning: str, environ: Mapping[str, str] | None = None) -> bool:
    """The variable as yes or no. Raises ImproperlyConfigured for anything else."""
    raw = _read(name, "yes" if default else "no", meaning, environ).lower()
    if raw in {"1", "true", "yes", "on"}:
        return True
    if raw in {"0", "false", "no", "off"}:
        return False
    raise ImproperlyConfigured(f"{name}={raw!r} is neither yes nor no. {meaning}")


def choice(
    name: str, default: str, among: tuple[str, ...], meaning: str, *, environ: Mapping[str, str] | None = None
) -> str:
    """Return the variable, one of `among`, also where it is written with "-" for "_".

    Raises ImproperlyConfigured for anything else.
    """
    value = _read(name, default, meaning, environ).lower()
    value = value if value in among else value.replace("-", "_")
    if value not in among:
        raise ImproperlyConfigured(f"{name}={value!r} is none of {', '.join(among)}. {meaning}")
    return value


def networks(
    name: str, meaning: str, *, environ: Mapping[str, str] | None = None
) -> tuple[IPv4Network | IPv6Network, ...]:
    """The networks of a list with commas, none where it is unset. Raises ImproperlyConfigured for what is none."""
    raw = _read(name, "", meaning, environ)
    try:
        return tuple(ip_network(part.strip()) for part in raw.split(",") if part.strip())
    except ValueError as error:
        raise ImproperlyConfigured(f"{name}={raw!r}: {error}. {meaning}") from None
