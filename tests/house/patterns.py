"""Every regular expression of the application, with the ways in which it is applied."""

import ast
import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from django.conf import settings

# Each by the folder that it is imported from.
PACKAGES = {
    "reflection_app": "",
    "notebook_app": "",
    "judgement": "packages/judgement/src",
    "desk_sandbox": "packages/sandbox/src",
}
# Run by operators and developers, never on the text of a submitter.
OURS = {"management", "migrations", "training"}
ANCHORED = {"match", "fullmatch"}
# `split` and `sub` scan as `finditer` does. Strings have methods of the first two names as well.
SCANNING = {"search", "finditer", "findall", "sub", "subn"}
FLAGS_AT = {"search": 2, "match": 2, "fullmatch": 2, "findall": 2, "finditer": 2, "split": 3, "sub": 4, "subn": 4}
DEEPEST = 4


@dataclass(frozen=True)
class Found:
    """A pattern, where it is, and its ways of application: `match`, `fullmatch`, `search` or `finditer`."""

    module: str
    name: str
    pattern: re.Pattern[Any]
    ways: frozenset[str]

    def __str__(self) -> str:
        return f"{self.module} {self.name}"


@dataclass(frozen=True)
class Source:
    """A module with its syntax tree."""

    name: str
    module: ModuleType
    tree: ast.Module

    def value(self, name: str) -> Any:
        return getattr(self.module, name, None)

    def calls(self) -> Iterator[tuple[ast.Call, ast.Attribute]]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                yield node, node.func

    def ways_of(self, name: str) -> set[str]:
        """Methods that the module calls on its name `name`."""
        return {
            func.attr
            for _, func in self.calls()
            if isinstance(func.value, ast.Name) and func.value.id == name and func.attr in {*FLAGS_AT}
        }

    def ways_of_unnamed(self) -> set[str]:
        """Methods of patterns that the module calls on values other than its own named patterns."""
        return {
            func.attr
            for _, func in self.calls()
            if func.attr in ANCHORED | SCANNING
            and not (
                isinstance(func.value, ast.Name)
                and (func.value.id in {"re", "regex"} or isinstance(self.value(func.value.id), re.Pattern))
            )
        }


@cache
def patterns() -> tuple[Found, ...]:
    """All patterns in attributes of modules, and those that calls of `re` write out."""
    sources = {source.name: source for source in _sources()}
    importers: dict[tuple[str, str], set[str]] = {}
    for source in sources.values():
        for node in ast.walk(source.tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    importers.setdefault((node.module, alias.name), set()).add(source.name)
    found: list[Found] = []
    for source in sources.values():
        for name in _assigned(source.tree):
            users = [source, *(sources[one] for one in sorted(importers.get((source.name, name), ())))]
            held = list(_held(source.value(name)))
            # One that is called by its name nowhere is called as an element of something.
            named = {way for one in users for way in one.ways_of(name)} if held else set()
            ways = named or {way for one in users for way in one.ways_of_unnamed()} if held else set()
            for number, pattern in enumerate(held):
                label = name if len(held) == 1 else f"{name}[{number}]"
                found.append(Found(source.name, label, pattern, _as_measured(ways)))
        known = {one.pattern.pattern for one in found if one.module == source.name}
        found += [one for one in _written_out(source) if one.pattern.pattern not in known]
    return tuple(found)


def _sources() -> Iterator[Source]:
    base = Path(settings.BASE_DIR)
    packages = [(base / folder, base / folder / name) for name, folder in PACKAGES.items()]
    for root, path in sorted((start, path) for start, package in packages for path in package.rglob("*.py")):
        place = path.relative_to(root).with_suffix("").parts
        text = path.read_text()
        if OURS.isdisjoint(place) and re.search(r"^\s*import re\b|\bPattern\b|signature\(", text, re.MULTILINE):
            name = ".".join(place).removesuffix(".__init__")
            yield Source(name, importlib.import_module(name), ast.parse(text))


def _assigned(tree: ast.Module) -> list[str]:
    """Names that the module's own statements assign."""
    nodes = (node for statement in tree.body for node in ast.walk(statement))
    return sorted({node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)})


def _held(value: Any, *, depth: int = 0) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif depth == DEEPEST or isinstance(value, type):
        return
    elif isinstance(value, list | tuple | set | frozenset):
        for one in value:
            yield from _held(one, depth=depth + 1)
    elif isinstance(value, dict):
        for one in (*value, *value.values()):
            yield from _held(one, depth=depth + 1)
    elif is_dataclass(value):
        for field in fields(value):
            yield from _held(getattr(value, field.name, None), depth=depth + 1)


def _as_measured(ways: set[str]) -> frozenset[str]:
    return frozenset(way if way in ANCHORED | {"search"} else "finditer" for way in ways or {"finditer"})


def _written_out(source: Source) -> Iterator[Found]:
    for call, func in source.calls():
        is_of_re = isinstance(func.value, ast.Name) and func.value.id == "re" and func.attr in {*FLAGS_AT, "compile"}
        text = _text(call.args[0], source) if is_of_re and call.args else None
        if text is None:
            continue
        at = FLAGS_AT.get(func.attr, 1)
        given = [*call.args[at : at + 1], *(one.value for one in call.keywords if one.arg == "flags")]
        flags = eval(ast.unparse(given[0]), {"re": re}) if given else 0
        yield Found(source.name, f"line {call.lineno}", re.compile(text, flags), _as_measured({func.attr}))


def _text(node: ast.expr, source: Source) -> Any:
    """The pattern that an expression makes, with a word for what is known only when it runs; None of others."""
    match node:
        case ast.Constant(value=str() | bytes() as value):
            return value
        case ast.Name(id=name):
            value = source.value(name)
            return value if isinstance(value, str | bytes) else None
        case ast.JoinedStr(values=values):
            return "".join(str(_text(one, source) or "name") for one in values)
        case ast.FormattedValue(value=value):
            return _text(value, source)
        case ast.BinOp(left=left, right=right):
            return f"{_text(left, source) or 'name'}{_text(right, source) or 'name'}"
    return None
