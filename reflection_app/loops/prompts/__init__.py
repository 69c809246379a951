"""The prompts, one text file each. `version()` changes with any of their words, and every run records it."""

import hashlib
from functools import cache
from importlib.resources import files
from string import Template

NAMES = (
    "code_failures",
    "code_system",
    "critic_evaluate",
    "critic_system",
    "structured_again",
    "write_again",
    "write_earlier",
    "write_system",
)


@cache
def _text(name: str) -> str:
    return (files(__name__) / f"{name}.txt").read_text(encoding="utf-8").strip()


def prompt(name: str, **values: object) -> str:
    """The prompt `name` with its values filled in. Text inside the values is never looked at again."""
    return Template(_text(name)).substitute({key: str(value) for key, value in values.items()})


@cache
def version() -> str:
    """A short hash of all prompts: equal if and only if every word is."""
    digest = hashlib.sha256()
    for name in NAMES:
        digest.update(f"{name}\0{_text(name)}\0".encode())
    return digest.hexdigest()[:12]
