"""Convert a test script to the form the sandbox plans with: plain assertions, and test functions without parameters."""

import ast
from dataclasses import dataclass, field

from desk_sandbox.scripts.cases import (
    Fixtures,
    Function,
    Room,
    ScriptTooLarge,
    fixture_decorator,
    parameters_of,
    read_parameters,
    split_by_case,
    without_parameters,
)
from desk_sandbox.scripts.syntax import (
    TOO_DEEP,
    PytestWords,
    ScriptRefused,
    WithoutPytest,
    check_mark,
    refused_at,
)
from desk_sandbox.scripts.unit_asserts import APPROX, UnitAsserts

# Code that runs the tests of a standalone script; here each test runs separately.
OF_UNITTEST_REFUSED = frozenset({"skip", "skipIf", "skipUnless", "expectedFailure"})
RUNNERS = frozenset({"unittest.main", "pytest.main", "doctest.testmod"})
ENDS = frozenset({"sys.exit", "exit", "quit", "SystemExit"})
MOST_TESTS = 2_000


@dataclass
class PlainForm:
    """The tree, the labels of generated tests, and the tests that cannot run here with the reasons."""

    tree: ast.Module
    labels: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)


def plain_form(tree: ast.Module) -> PlainForm:
    """Convert `tree`, which is changed. Raise ScriptRefused if more than single tests cannot run here."""
    try:
        words = PytestWords(tree)
        form = PlainForm(tree)
        for node in test_classes(tree):
            if _is_unit(node):
                for method in node.body:
                    if isinstance(method, Function) and method.args.args:
                        UnitAsserts(method.args.args[0].arg).visit(method)
        # Rename `approx(…)` first, before literal values of cases are distinguished from computed ones.
        for call in ast.walk(tree):
            if isinstance(call, ast.Call) and words.part(call.func) == "approx":
                call.func = ast.copy_location(ast.Name(APPROX, ast.Load()), call.func)
        _Expansion(form, words).expand()
        # Remove what runs the tests. Other code under `__main__` is run only if there is no test without it.
        body = [statement for statement in tree.body if not _runs_tests(statement)]
        tree.body = [statement for statement in body if not is_main_block(statement)]
        if not _has_tests(tree):
            for statement in body:
                if isinstance(statement, ast.If) and is_main_block(statement):
                    tree.body += [inner for inner in statement.body if not _runs_tests(inner)]
        WithoutPytest(words).visit(tree)
        ast.fix_missing_locations(tree)
    except RecursionError:
        raise ScriptRefused(TOO_DEEP) from None
    return form


class _Expansion:
    def __init__(self, form: PlainForm, words: PytestWords) -> None:
        self.form, self.words = form, words
        # The lists that the script writes as literals under a name bound once.
        tree = form.tree
        found: dict[str, ast.expr] = {}
        bound: dict[str, int] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                bound[node.id] = bound.get(node.id, 0) + 1
        for node in tree.body:
            target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
            if isinstance(node, ast.Assign) and isinstance(target, ast.Name) and bound[target.id] == 1:
                found[target.id] = node.value
        self.lists = found
        self.room = Room()

    def expand(self) -> None:
        tree = self.form.tree
        fixtures = Fixtures()
        self._take_fixtures(tree.body, fixtures, is_method=False)
        called = {called_name(node) for node in tree.body}
        body: list[ast.stmt] = []
        for node in tree.body:
            if isinstance(node, Function) and node.name not in called:
                body += self._tests(node, fixtures, owner="")
                continue
            body.append(node)
            if isinstance(node, ast.ClassDef):
                shared = [one for one in node.decorator_list if self.words.called(one).startswith("mark.")]
                node.decorator_list = [one for one in node.decorator_list if one not in shared]
                own = fixtures.within_a_class()
                self._take_fixtures(node.body, own, is_method=True)
                members: list[ast.stmt] = []
                for member in node.body:
                    if not isinstance(member, Function):
                        members.append(member)
                        continue
                    if member.name.startswith("test"):
                        member.decorator_list = [*shared, *member.decorator_list]
                    members += self._tests(member, Fixtures() if _is_unit(node) else own, owner=node.name)
                node.body = members
        tree.body = body
        tests = sum(isinstance(node, Function) for node in ast.walk(tree))
        if tests > MOST_TESTS:
            raise ScriptRefused(f"{tests:,} functions are too many; the most is {MOST_TESTS:,}")

    def _take_fixtures(self, body: list[ast.stmt], fixtures: Fixtures, *, is_method: bool) -> None:
        for node in body:
            if isinstance(node, Function) and (decorator := fixture_decorator(node, self.words)) is not None:
                node.decorator_list = [one for one in node.decorator_list if one is not decorator]
                fixtures.take(node, decorator, is_method=is_method)

    def _tests(self, node: Function, fixtures: Fixtures, *, owner: str) -> list[Function]:
        """Return the function unchanged, or the tests for its cases; [] for a test that cannot run."""
        try:
            made = self._made_of(node, fixtures, owner=owner)
            for test in made:
                WithoutPytest(self.words).generic_visit(test)
        except ScriptRefused as error:
            if isinstance(error, ScriptTooLarge) or not node.name.startswith("test"):
                raise
            self.form.refused[f"{owner}::{node.name}" if owner else node.name] = str(error)
            return []
        return made

    def _made_of(self, node: Function, fixtures: Fixtures, *, owner: str) -> list[Function]:
        kept: list[ast.expr] = []
        parameters = []
        for decorator in node.decorator_list:
            part = self.words.called(decorator)
            if not part:
                if (name := ast.unparse(decorator).partition("(")[0].rpartition(".")[2]) in OF_UNITTEST_REFUSED:
                    raise refused_at(decorator, f"`{name}` of unittest is not there: leave such a test out")
                kept.append(decorator)
            elif part == "mark.parametrize":
                parameters.append(read_parameters(decorator, self.words, self.lists, room=self.room))
            elif part.startswith("mark."):
                check_mark(part, decorator)
            else:
                raise refused_at(decorator, f"`pytest.{part}` is no decorator of a test")
        node.decorator_list = kept
        if not node.name.startswith("test"):
            return [node]
        of_cases = {name for one in parameters for name in one.names}
        # Decorators other than pytest's, as in unittest.mock, may supply any arguments.
        is_static = any(isinstance(one, ast.Name) and one.id == "staticmethod" for one in kept)
        wanted = parameters_of(node)[bool(owner) and not is_static :]
        from_fixtures = [] if kept else [name for name in wanted if name not in of_cases]
        me = node.args.args[0].arg if owner and node.args.args else ""
        before = fixtures.statements(from_fixtures, test=node, me=me)
        self.room.take(ast.Module(before, []), 1, at=node)
        without_parameters(node, set(from_fixtures))
        if not parameters:
            node.body = [*before, *node.body]
            return [node]
        made: list[Function] = []
        for test, label in split_by_case(node, parameters, before=before, room=self.room):
            self.form.labels[f"{owner}::{test.name}" if owner else test.name] = f"{owner}::{label}" if owner else label
            made.append(test)
        return made


def test_classes(tree: ast.Module) -> list[ast.ClassDef]:
    """Return the top-level classes with tests: named `Test…`, or derived from a TestCase, also indirectly."""
    found: dict[str, ast.ClassDef] = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            bases = {ast.unparse(base) for base in node.bases}
            if node.name.startswith("Test") or bases & found.keys() or any(base.endswith("TestCase") for base in bases):
                found[node.name] = node
    return [*found.values()]


def _is_unit(node: ast.ClassDef) -> bool:
    """Return True if its methods may call assertions of their instance. Classes without such calls are unaffected."""
    return bool(node.bases)


def called_name(node: ast.stmt) -> str:
    """Return the name of the function if the statement is only a call, else ""."""
    called = node.value.func if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) else None
    return called.id if isinstance(called, ast.Name) else ""


def is_main_block(node: ast.stmt) -> bool:
    """Return True for `if __name__ == ...`."""
    return isinstance(node, ast.If) and any(
        isinstance(inner, ast.Name) and inner.id == "__name__" for inner in ast.walk(node.test)
    )


def _runs_tests(node: ast.stmt) -> bool:
    call = node.value if isinstance(node, ast.Expr) else node.exc if isinstance(node, ast.Raise) else None
    if not isinstance(call, ast.Call):
        return False
    name = ast.unparse(call.func)
    if name not in ENDS:
        return name in RUNNERS
    return any(isinstance(one, ast.Call) and ast.unparse(one.func) in RUNNERS for one in call.args)


def _has_tests(tree: ast.Module) -> bool:
    """Return True if something in the tree is a test or calls a function that asserts."""
    checkers = {node.name for node in tree.body if isinstance(node, Function) and asserts(node)}
    for node in tree.body:
        if isinstance(node, Function):
            if node.name.startswith("test"):
                return True
        elif isinstance(node, ast.ClassDef):
            continue
        elif asserts(node) or called_name(node) in checkers:
            return True
    return any(
        isinstance(method, Function) and method.name.startswith("test")
        for node in test_classes(tree)
        for method in node.body
    )


def asserts(node: ast.AST) -> bool:
    """Return True if the node judges something: by an assertion, an AssertionError, or an expected exception."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Assert):
            return True
        if isinstance(inner, ast.Raise) and inner.exc is not None and "AssertionError" in ast.unparse(inner.exc):
            return True
        if isinstance(inner, ast.Name | ast.Attribute):
            name = inner.id if isinstance(inner, ast.Name) else inner.attr
            if name in {"raises", "__raises__", "__fail__"}:
                return True
    return False
