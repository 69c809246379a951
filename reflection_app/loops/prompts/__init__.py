"""The prompts, one text file each. A prompt's version changes with any of its words, and every run records them all."""

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
    """The prompt `name` with its values filled in. Text inside the values is never looked at again."""
    return Template(_text(name)).substitute({key: str(value) for key, value in values.items()})


def versions() -> dict[str, str]:
    """A short hash of each prompt by its name."""
    return dict(_versions())


@cache
def _versions() -> dict[str, str]:
    return {name: hashlib.sha256(_text(name).encode()).hexdigest()[:12] for name in NAMES}
