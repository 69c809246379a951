"""Queries that Django compiles once a process: building one costs ten times what running it does.

For the few that every run asks. A function that returns a queryset is called once, with placeholders in place of its
arguments; later calls put the real ones into the statement. So it may use its arguments as values to compare with, and
in no other way: no `if`, no slice, no formatting.
"""

from collections.abc import Callable, Iterator
from copy import copy
from functools import update_wrapper
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

from django.db import connection
from django.db.models import Lookup, QuerySet, UUIDField
from django.db.models.query import FlatValuesListIterable, ModelIterable


@UUIDField.register_lookup
class IsAny(Lookup):
    """`pk__any=ids` compares with an array, which is one value however many ids it has."""

    lookup_name = "any"
    prepare_rhs = False

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, tuple[Any, ...]]:
        left, values = self.process_lhs(compiler, connection)
        return f"{left} = ANY(%s)", (*values, self.rhs)


class Plan:
    """The statement of a queryset, which of its values are arguments, and how its rows are read."""

    def __init__(self, queryset: QuerySet[Any, Any], placeholders: list[Any]) -> None:
        compiler = queryset.query.get_compiler(using=queryset.db)
        self.sql, values = compiler.as_sql()
        # Each value with the index of the argument that replaces it, or None.
        self._values = [(value, _place(value, placeholders)) for value in values]
        if {place for _, place in self._values} - {None} != set(range(len(placeholders))):
            raise ValueError("An argument of a compiled query is not a value of its statement as it is.")
        chosen = [column for column, *_ in compiler.select[: compiler.col_count]]
        self._converters = list(compiler.get_converters(chosen).items())
        self._queryset: Any = queryset
        self._compiler: Any = compiler
        compiler.get_converters = lambda _columns, converters=dict(self._converters): converters
        iterable, info = self._queryset._iterable_class, compiler.klass_info  # noqa: SLF001
        self._is_flat = iterable is FlatValuesListIterable
        self._model = info["model"] if info and issubclass(iterable, ModelIterable) else None
        self._has_more = bool(self._model and (info.get("related_klass_infos") or compiler.annotation_col_map))
        self._names = [column.target.attname for column in chosen] if self._model and not self._has_more else []

    def values(self, arguments: tuple[Any, ...]) -> list[Any]:
        return [value if place is None else arguments[place] for value, place in self._values]

    def rows(self, arguments: tuple[Any, ...]) -> Iterator[Any]:
        if self._has_more:
            yield from self._rows_by_django(arguments)
            return
        with connection.cursor() as cursor:
            cursor.execute(self.sql, self.values(arguments))
            found = cursor.fetchall()
        for row in found:
            read = list(row)
            for place, (converters, column) in self._converters:
                for convert in converters:
                    read[place] = convert(read[place], column, connection)
            if self._model:
                yield self._model.from_db(connection.alias, self._names, read)
            else:
                yield read[0] if self._is_flat else tuple(read)

    def _rows_by_django(self, arguments: tuple[Any, ...]) -> Iterator[Any]:
        """Return rows that have annotations or objects of `select_related`, which Django alone knows how to build."""
        compiler = copy(self._compiler)
        compiler.connection = connection
        compiler.as_sql = lambda *_, **__: (self.sql, self.values(arguments))
        queryset = self._queryset
        asked = SimpleNamespace(
            db=queryset.db,
            model=queryset.model,
            query=_Query(queryset.query, compiler),
            _fields=queryset._fields,
            _fetch_mode=queryset._fetch_mode,  # noqa: SLF001
            _known_related_objects={},
        )
        yield from queryset._iterable_class(asked)  # noqa: SLF001


class _Query:
    """The query as the iterators of rows read it, with a compiler that has the statement."""

    def __init__(self, query: Any, compiler: Any) -> None:
        self._query = query
        self._compiler = compiler

    def get_compiler(self, *_: object, **__: object) -> Any:
        return self._compiler

    def __getattr__(self, name: str) -> Any:
        return getattr(self._query, name)


class Compiled[Row]:
    """A query that is compiled at its first call. Arguments are UUIDs, lists of UUIDs, or texts."""

    def __init__(self, build: Callable[..., QuerySet[Any, Row]]) -> None:
        self._build = build
        self._plan: Plan | None = None

    def __call__(self, *arguments: UUID | list[UUID] | str) -> list[Row]:
        """Return all rows."""
        return list(self._planned(arguments).rows(arguments))

    def first(self, *arguments: UUID | list[UUID] | str) -> Row | None:
        """Return the first row, or None. The queryset should be limited to one."""
        return next(self._planned(arguments).rows(arguments), None)

    def statement(self, *arguments: UUID | list[UUID] | str) -> tuple[str, list[Any]]:
        """Return the statement and its values, to be part of another."""
        plan = self._planned(arguments)
        return plan.sql, plan.values(arguments)

    def _planned(self, arguments: tuple[Any, ...]) -> Plan:
        if self._plan is None:
            placeholders = [_placeholder_of(argument) for argument in arguments]
            self._plan = Plan(self._build(*placeholders), placeholders)
        return self._plan


def compiled[Row](build: Callable[..., QuerySet[Any, Row]]) -> Compiled[Row]:
    """Decorate a function that returns a queryset, to be called for its rows."""
    query = Compiled(build)
    update_wrapper(query, build)
    return query


def _placeholder_of(argument: Any) -> Any:
    if isinstance(argument, list):
        return [uuid4()]
    return uuid4() if isinstance(argument, UUID) else uuid4().hex


def _place(value: Any, placeholders: list[Any]) -> int | None:
    return next((n for n, one in enumerate(placeholders) if type(one) is type(value) and one == value), None)
