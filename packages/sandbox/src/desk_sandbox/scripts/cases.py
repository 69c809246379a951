"""`pytest.mark.parametrize`: one test function per case, with literal values inserted into its assertions.

The sandbox can then withhold a case's expected value like that of a plain assertion.
"""

import ast
import copy
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import product
from math import prod

from desk_sandbox.scripts.syntax import PytestWords, ScriptRefused, refused_at
from desk_sandbox.scripts.unit_asserts import APPROX

# Fixtures that a test script defines, and the statements that create them in a test

Function = ast.FunctionDef | ast.AsyncFunctionDef
NONE_OF_ITS_OWN = "the fixtures that pytest brings along, such as tmp_path, capsys and monkeypatch, are not there"


@dataclass(frozen=True)
class Fixture:
    """A fixture, by its function, which is a method if defined in a class."""

    function: str
    needs: tuple[str, ...]
    yields: bool
    is_method: bool


@dataclass
class Fixtures:
    """The fixtures available to tests of one place, by name."""

    known: dict[str, Fixture] = field(default_factory=dict)
    always: list[str] = field(default_factory=list)

    def within_a_class(self) -> "Fixtures":
        """Return a copy to which a class can add its own fixtures."""
        return Fixtures(dict(self.known), [*self.always])

    def take(self, node: Function, decorator: ast.expr, *, is_method: bool) -> None:
        """Add the fixture that `node` defines. Its function is renamed so that no parameter hides it.

        Raise ScriptRefused for unsupported options.
        """
        if isinstance(node, ast.AsyncFunctionDef):
            raise refused_at(node, "an async fixture is not there; make the value in the test")
        options = {keyword.arg: keyword.value for keyword in getattr(decorator, "keywords", ())}
        if refused := options.keys() - {"scope", "autouse"}:
            raise refused_at(decorator, f"`{min(map(str, refused))}` of a fixture is not there; use mark.parametrize")
        name, node.name = node.name, f"fixture {node.name}"
        self.known[name] = Fixture(
            function=node.name,
            needs=tuple(parameters_of(node)[is_method:]),
            yields=any(isinstance(inner, ast.Yield) for inner in ast.walk(node)),
            is_method=is_method,
        )
        autouse = options.get("autouse")
        if isinstance(autouse, ast.Constant) and autouse.value:
            self.always.append(name)

    def statements(self, wanted: list[str], *, test: Function, me: str) -> list[ast.stmt]:
        """Return the statements that create the requested and the autouse fixtures at the start of a test.

        Code after a fixture's `yield` is not run, because each test creates its own fixtures.
        """
        made: dict[str, None] = {}
        found: list[ast.stmt] = []
        for name in dict.fromkeys([*self.always, *wanted]):
            found += self._make(name, made, test=test, me=me, within=())
        return [ast.fix_missing_locations(ast.copy_location(statement, test)) for statement in found]

    def _make(
        self, name: str, made: dict[str, None], *, test: Function, me: str, within: tuple[str, ...]
    ) -> Iterator[ast.stmt]:
        if name in made:
            return
        fixture = self.known.get(name)
        if fixture is None:
            what = f"{test.name} asks for `{name}`, which is no fixture of this script"
            raise refused_at(test, f"{what}; {NONE_OF_ITS_OWN}")
        if name in within:
            raise refused_at(test, f"the fixture `{name}` needs itself")
        for needed in fixture.needs:
            yield from self._make(needed, made, test=test, me=me, within=(*within, name))
        made[name] = None
        function: ast.expr = ast.Name(fixture.function, ast.Load())
        if fixture.is_method:
            function = ast.Attribute(ast.Name(me, ast.Load()), fixture.function, ast.Load())
        value: ast.expr = ast.Call(function, [ast.Name(needed, ast.Load()) for needed in fixture.needs], [])
        if fixture.yields:
            kept = f"kept {name}"  # an unreferenced generator would be closed at once
            yield ast.Assign([ast.Name(kept, ast.Store())], value)
            value = ast.Call(ast.Name("next", ast.Load()), [ast.Name(kept, ast.Load())], [])
        yield ast.Assign([ast.Name(name, ast.Store())], value)


def fixture_decorator(node: Function, words: PytestWords) -> ast.expr | None:
    return next((decorator for decorator in node.decorator_list if words.called(decorator) == "fixture"), None)


def parameters_of(node: Function) -> list[str]:
    """Return the required parameters in order."""
    placed = [*node.args.posonlyargs, *node.args.args]
    required = placed[: len(placed) - len(node.args.defaults)]
    named = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
    return [argument.arg for argument in (*required, *(one for one, default in named if default is None))]


def without_parameters(node: Function, names: set[str]) -> None:
    """Remove these parameters from the function; the others retain their defaults."""
    arguments = node.args
    placed = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(placed) - len(arguments.defaults)) + [*arguments.defaults]
    pairs = [pair for pair in zip(placed, defaults, strict=True) if pair[0].arg not in names]
    only = [pair for pair in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if pair[0].arg not in names]
    node.args = ast.arguments(
        posonlyargs=[],
        args=[argument for argument, _ in pairs],
        vararg=arguments.vararg,
        kwonlyargs=[argument for argument, _ in only],
        kw_defaults=[default for _, default in only],
        kwarg=arguments.kwarg,
        defaults=[default for _, default in pairs if default is not None],
    )


MOST_CASES = 500
# A script of 200,000 characters has fewer nodes; its cases and fixtures must not multiply them many times.
MOST_NODES = 150_000
LONGEST_ID = 60


class ScriptTooLarge(ScriptRefused):
    """The cases make the script too large: none of its tests is used."""


class Room:
    """Remaining number of nodes that may be copied for a script's cases."""

    def __init__(self) -> None:
        self.left = MOST_NODES

    def take(self, node: ast.AST, times: int, *, at: ast.AST) -> None:
        """Use up room for `times` copies of `node`. Raise ScriptTooLarge if there is too little."""
        self.left -= times * sum(1 for _ in ast.walk(node))
        if self.left < 0:
            line = getattr(at, "lineno", None)
            raise ScriptTooLarge(
                "the cases of this script make too much of it; write fewer, or shorter tests", line=line
            )


@dataclass(frozen=True)
class Case:
    """A case of one decorator: each name with its value, or all names with one value to unpack."""

    label: str
    values: tuple[tuple[tuple[str, ...], ast.expr], ...]


@dataclass(frozen=True)
class Parameters:
    """A parsed decorator. `source` is set instead of `cases` if the list is computed."""

    names: tuple[str, ...]
    cases: tuple[Case, ...] = ()
    source: ast.expr | None = None


def read_parameters(decorator: ast.expr, words: PytestWords, lists: dict[str, ast.expr], *, room: Room) -> Parameters:
    """Return the content of a `parametrize`; `lists` are literal lists of the script by name.

    Raise ScriptRefused if it cannot be used.
    """
    if not isinstance(decorator, ast.Call):
        raise refused_at(decorator, "parametrize needs names and values")
    arguments = dict(zip(("argnames", "argvalues"), decorator.args, strict=False))
    arguments |= {str(keyword.arg): keyword.value for keyword in decorator.keywords}
    if refused := arguments.keys() - {"argnames", "argvalues", "ids", "scope"}:
        raise refused_at(decorator, f"`{min(refused)}` of parametrize is not there")
    if not {"argnames", "argvalues"} <= arguments.keys():
        raise refused_at(decorator, "parametrize needs names and values")
    try:
        written = ast.literal_eval(arguments["argnames"])
    except (ValueError, TypeError, RecursionError):
        written = None
    parts = written.split(",") if isinstance(written, str) else written
    stripped = [part.strip() for part in parts if isinstance(part, str)] if isinstance(parts, list | tuple) else []
    names = tuple(name for name in stripped if name)
    if not names or not all(name.isidentifier() for name in names):
        raise refused_at(arguments["argnames"], "the names of parametrize have to be written out")
    values = arguments["argvalues"]
    if isinstance(values, ast.Name):
        values = lists.get(values.id, values)
    if not isinstance(values, ast.List | ast.Tuple) or any(isinstance(one, ast.Starred) for one in values.elts):
        return Parameters(names, source=values)
    if len(values.elts) > MOST_CASES:
        raise refused_at(decorator, f"{len(values.elts):,} cases are too many; the most is {MOST_CASES}")
    room.take(values, 4, at=decorator)  # each value is also written out as a label
    labels = arguments.get("ids")
    ids = labels.elts if isinstance(labels, ast.List | ast.Tuple) else []
    cases = [_case(names, value, words) for value in values.elts]
    for number, label in enumerate(ids[: len(cases)]):
        if isinstance(label, ast.Constant):
            cases[number] = Case(str(label.value)[:LONGEST_ID], cases[number].values)
    return Parameters(names, tuple(cases))


def _case(names: tuple[str, ...], value: ast.expr, words: PytestWords) -> Case:
    label = ""
    if words.called(value) == "param" and isinstance(value, ast.Call):
        for keyword in value.keywords:
            if keyword.arg != "id":
                raise refused_at(value, f"`{keyword.arg}` of pytest.param is not there: leave such a case out")
            label = ast.unparse(keyword.value).strip("'\"")
        parts = value.args
        if len(parts) != len(names):
            raise refused_at(value, f"{len(parts)} values for {len(names)} names")
    elif len(names) == 1:
        parts = [value]
    elif isinstance(value, ast.Tuple | ast.List) and not any(isinstance(one, ast.Starred) for one in value.elts):
        parts = value.elts
        if len(parts) != len(names):
            raise refused_at(value, f"{len(parts)} values for {len(names)} names")
    else:
        return Case(ast.unparse(value)[:LONGEST_ID], ((names, value),))
    label = label or "-".join(ast.unparse(part) for part in parts)
    return Case(label[:LONGEST_ID], tuple(((name,), part) for name, part in zip(names, parts, strict=True)))


def split_by_case(
    test: Function, parameters: list[Parameters], *, before: Iterable[ast.stmt], room: Room
) -> list[tuple[Function, str]]:
    """Return a test and its label for each combination of cases; `before` are the test's first statements.

    The name in the code is a number, because a name containing the values would reveal them.
    """
    names = [name for one in parameters for name in one.names]
    unknown = set(names) - {*parameters_of(test)} - {argument.arg for argument in test.args.kwonlyargs + test.args.args}
    if unknown:
        raise refused_at(test, f"{test.name} has no parameter `{min(unknown)}`")
    combinations = prod(len(one.cases) for one in parameters if one.source is None)
    if combinations > MOST_CASES:
        raise refused_at(test, f"{combinations:,} cases are too many; the most is {MOST_CASES}")
    room.take(ast.Module([test, *before], []), combinations, at=test)
    found = []
    written = [one for one in parameters if one.source is None]
    for number, chosen in enumerate(product(*(one.cases for one in written)), 1):
        copied = copy.deepcopy(test)
        without_parameters(copied, set(names))
        for case in reversed(chosen):
            for targets, value in reversed(case.values):
                is_written_out = not any(
                    (isinstance(node, ast.Name) and node.id != APPROX)
                    or (isinstance(node, ast.Call) and not isinstance(node.func, ast.Name))
                    for node in ast.walk(value)
                )
                if len(targets) == 1 and is_written_out:
                    _put_into_assertions(copied, targets[0], value)
                if any(isinstance(node, ast.Name) and node.id in targets for node in ast.walk(copied)):
                    bound = ast.Assign([_target(targets)], copy.deepcopy(value))
                    copied.body.insert(0, ast.fix_missing_locations(ast.copy_location(bound, value)))
        copied.body = [*copy.deepcopy([*before]), *copied.body]
        for one in parameters:
            if one.source is not None:
                target = _target(one.names)
                loop = ast.For(target, copy.deepcopy(one.source), copied.body, [])
                copied.body = [ast.fix_missing_locations(ast.copy_location(loop, test))]
        label = "-".join(case.label for case in chosen)
        if written:
            copied.name = f"{test.name}[{number}]"
        found.append((copied, f"{test.name}[{label}]" if written else test.name))
    return found


def _target(names: tuple[str, ...]) -> ast.expr:
    targets: list[ast.expr] = [ast.Name(name, ast.Store()) for name in names]
    return targets[0] if len(targets) == 1 else ast.Tuple(targets, ast.Store())


def _put_into_assertions(test: Function, name: str, value: ast.expr) -> None:
    """Replace the name by the value where it is one side of an assertion in the test's own body."""
    named = [node for node in ast.walk(test) if isinstance(node, ast.Name) and node.id == name]
    if any(isinstance(node.ctx, ast.Store) for node in named):
        return
    for statement in test.body:
        condition = statement.test if isinstance(statement, ast.Assert) else None
        if not (
            isinstance(statement, ast.Assert)
            and isinstance(condition, ast.Compare)
            and len(condition.ops) == 1
            and isinstance(condition.ops[0], ast.Eq | ast.Is)
        ):
            continue
        sides = [condition.left, condition.comparators[0]]
        is_name = [isinstance(side, ast.Name) and side.id == name for side in sides]
        if sum(is_name) == 1:
            put = copy.deepcopy(value)
            if is_name[0]:
                condition.left = put
            else:
                condition.comparators = [put]
            statement.msg = None
