"""Queries whose SQL is built once: of a small request, Django spends more on building its queries than on the rest."""

from collections.abc import Callable
from copy import copy
from functools import cached_property
from types import SimpleNamespace
from typing import Any

from django.db import connections
from django.db.models import QuerySet


class Compiled[Row]:
    """A query that is asked again and again with other values.

    `build` makes it of `places`, which stand for the values: each is of their type and occurs nowhere else in the
    query. What else goes into the query stays as it is at the first call, so no time of day and nothing of a request
    may. A value must not be None, which would be another SQL.
    """

    def __init__(self, build: Callable[..., QuerySet[Any, Row]], *places: object) -> None:
        self._build = build
        self._places = places

    def __call__(self, *values: object) -> list[Row]:
        """Return the rows of the query with `values` in place of the places."""
        queryset, built, sql, parameters = self._built
        iterator: Any = queryset._iterable_class  # noqa: SLF001 - what Django itself asks
        compiler = copy(built)
        compiler.connection = connections[queryset.db]
        given = [values[self._places.index(one)] if one in self._places else one for one in parameters]
        compiler.as_sql = lambda *_, **__: (sql, given)
        asked = SimpleNamespace(
            db=queryset.db,
            model=queryset.model,
            query=_Query(queryset.query, compiler),
            _fields=queryset._fields,
            _fetch_mode=queryset._fetch_mode,  # noqa: SLF001
            _known_related_objects={},
        )
        return [*iterator(asked)]

    def first(self, *values: object) -> Row | None:
        return next(iter(self(*values)), None)

    @cached_property
    def _built(self) -> tuple[Any, Any, str, tuple[Any, ...]]:
        queryset = self._build(*self._places)
        compiler: Any = queryset.query.get_compiler(using=queryset.db)
        sql, parameters = compiler.as_sql()
        converters = compiler.get_converters([column[0] for column in compiler.select[: compiler.col_count]])
        compiler.get_converters = lambda _columns: converters
        return queryset, compiler, sql, tuple(parameters)


class _Query:
    """The query as its iterators read it, with a compiler that has the SQL."""

    def __init__(self, query: Any, compiler: Any) -> None:
        self._query = query
        self._compiler = compiler

    def get_compiler(self, *_: object, **__: object) -> Any:
        return self._compiler

    def __getattr__(self, name: str) -> Any:
        return getattr(self._query, name)
