"""Fixtures that a test script defines itself, and the statements that give them to a test."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from reflection_app.loops.scripts.pytest_words import PytestWords
from reflection_app.loops.scripts.syntax import refused_at

Function = ast.FunctionDef | ast.AsyncFunctionDef
NONE_OF_ITS_OWN = "the fixtures that pytest brings along, such as tmp_path, capsys and monkeypatch, are not there"


@dataclass(frozen=True)
class Fixture:
    """A fixture, by the function that makes it, which is a method where it stands in a class."""

    function: str
    needs: tuple[str, ...]
    yields: bool
    is_method: bool


@dataclass
class Fixtures:
    """The fixtures that tests of one place can ask for, by name."""

    known: dict[str, Fixture] = field(default_factory=dict)
    always: list[str] = field(default_factory=list)

    def within_a_class(self) -> "Fixtures":
        """These, to which those of a class are added."""
        return Fixtures(dict(self.known), [*self.always])

    def take(self, node: Function, decorator: ast.expr, *, is_method: bool) -> None:
        """Adds the fixture that `node` makes. Its function gets a name that no parameter hides."""
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
        """What the test begins with, so that it has the fixtures that it wants and those that all tests get.

        What a fixture does after its `yield` is not done: each test makes its own anew.
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
            kept = f"kept {name}"  # a generator that nobody holds would be closed at once
            yield ast.Assign([ast.Name(kept, ast.Store())], value)
            value = ast.Call(ast.Name("next", ast.Load()), [ast.Name(kept, ast.Load())], [])
        yield ast.Assign([ast.Name(name, ast.Store())], value)


def fixture_decorator(node: Function, words: PytestWords) -> ast.expr | None:
    return next((decorator for decorator in node.decorator_list if words.called(decorator) == "fixture"), None)


def parameters_of(node: Function) -> list[str]:
    """The parameters that have to be given, in order."""
    placed = [*node.args.posonlyargs, *node.args.args]
    required = placed[: len(placed) - len(node.args.defaults)]
    named = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
    return [argument.arg for argument in (*required, *(one for one, default in named if default is None))]


def without_parameters(node: Function, names: set[str]) -> None:
    """Takes these parameters out of the function's own, which keep their defaults."""
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
