"""Prompts, one text file each. Any change of wording changes a prompt's version; every run records all versions."""

import hashlib
from functools import cache
from importlib.resources import files
from string import Template

NAMES = tuple(
    sorted(file.name.removesuffix(".txt") for file in files(__name__).iterdir() if file.name.endswith(".txt"))
)


@cache
def _text(name: str) -> str:
    return (files(__name__) / f"{name}.txt").read_text(encoding="utf-8").strip()


def prompt(name: str, **values: object) -> str:
    """Return the prompt `name` with its values filled in. Placeholders inside of values are not expanded."""
    return Template(_text(name)).substitute({key: str(value) for key, value in values.items()})


def versions() -> dict[str, str]:
    """Return a short hash of each prompt by name."""
    return dict(_versions())


@cache
def _versions() -> dict[str, str]:
    return {name: hashlib.sha256(_text(name).encode()).hexdigest()[:12] for name in NAMES}
