"""What is wrong with minimum requirements as they were handed in, by field."""

from collections.abc import Iterator

from reflection_app.loops.json_paths import PathRefused, parse_path
from reflection_app.loops.json_schema import SchemaRefused, check_schema
from reflection_app.loops.requirements import Counted, CountRequirement, Requirements


def problems_of(requirements: Requirements) -> Iterator[tuple[str, str]]:
    """Each field that no answer could be checked by, with the reason."""
    if requirements.schema_ is not None:
        try:
            check_schema(requirements.schema_)
        except SchemaRefused as error:
            yield "requirements.schema", str(error)
    for number, path in enumerate(requirements.required_fields):
        yield from _problems_of_path(f"requirements.required_fields.{number}", path)
    for number, count in enumerate(requirements.counts):
        yield from _problems_of_count(f"requirements.counts.{number}", count)


def _problems_of_count(field: str, count: CountRequirement) -> Iterator[tuple[str, str]]:
    yield from _problems_of_path(f"{field}.path", count.path)
    if count.where and count.of is not Counted.ITEMS:
        yield f"{field}.where", f"only items can be told apart by their values, not {count.of.value}"


def _problems_of_path(field: str, path: str) -> Iterator[tuple[str, str]]:
    try:
        parse_path(path)
    except PathRefused as error:
        yield field, f"{path!r} is no path: {error}"
