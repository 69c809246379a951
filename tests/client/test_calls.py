"""Every call of the Python client against the description of REST, which the desk is tested against."""

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any, get_type_hints
from uuid import UUID

import pytest
from pydantic import BaseModel
from reflection_desk import Desk
from reflection_desk.call import Call
from reflection_desk.calls import checks, datasets, notebook, reviews, sessions, work

from tests.client.samples import Described

ID = UUID("01a203a7-9f22-70ed-a6c6-7cc37409ca31")
CALLS: dict[str, Callable[..., Call[Any]]] = {
    name: build
    for module in (work, sessions, notebook, reviews, datasets, checks)
    for name, build in inspect.getmembers(module, inspect.isfunction)
    if build.__module__ == module.__name__
}


@functools.cache
def described() -> Described:
    return Described()


def with_everything(build: Callable[..., Call[Any]]) -> Call[Any]:
    """The call with every argument given; what the values are does not matter here."""
    given: dict[str, Any] = {}
    for name, parameter in inspect.signature(build).parameters.items():
        names = [name]
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            fields = getattr(parameter.annotation, "__args__", ())
            names = [*get_type_hints(fields[0])] if fields else []
        given |= {one: value_of(one) for one in names}
    return build(**given)


def value_of(name: str) -> Any:
    return (
        "runs"
        if name == "dataset"
        else ID
        if name.endswith("_id")
        else 1
        if name in {"wait_s", "after", "limit", "n"}
        else "x"
    )


def models_in(value: Any) -> Iterator[BaseModel]:
    if isinstance(value, BaseModel):
        yield value
        for name in type(value).model_fields:
            yield from models_in(getattr(value, name))
    elif isinstance(value, list | dict):
        # The first has all that is named, those after it lack something.
        for one in list(value.values() if isinstance(value, dict) else value)[:1]:
            yield from models_in(one)


def test_a_client_has_every_call() -> None:
    assert {name for name in CALLS if hasattr(Desk, name)} == set(CALLS)


@pytest.mark.parametrize("name", CALLS)
def test_what_is_sent_is_what_the_desk_reads(name: str) -> None:
    call = with_everything(CALLS[name])
    operation = described().operation(call.method, call.path)
    parameters = [described().resolved(one) for one in operation.get("parameters", ())]
    assert set(call.query) <= {one["name"] for one in parameters if one["in"] == "query"}
    if call.method == "POST":
        assert any(one["name"] == "Idempotency-Key" for one in parameters)
        sent = operation["requestBody"]["content"]
        if call.file is not None:
            assert set(sent) == {"multipart/form-data"}
            return
        body = described().resolved(sent["application/json"]["schema"])
        assert set(call.body) <= set(body.get("properties", ()))


@pytest.mark.parametrize("name", CALLS)
def test_whatever_the_desk_may_answer_is_read(name: str) -> None:
    call = with_everything(CALLS[name])
    answers = described().operation(call.method, call.path)["responses"]
    told = [answers[status] for status in answers if status.startswith("2")]
    assert told
    for answer in told:
        content = answer.get("content")
        samples = list(described().samples(content["application/json"]["schema"])) if content else [None]
        for place, sample in enumerate(samples):
            read = call.read(sample)
            if place == 0:
                # Only `get_run` tells what comes next; data sets are read forwards alone.
                told_elsewhere = set() if name == "get_run" else {"Run.next", "Page[dict[str, Any]].previous"}
                never_told = {
                    f"{type(one).__name__}.{field}"
                    for one in models_in(read)
                    for field in set(type(one).model_fields) - one.model_fields_set
                }
                assert never_told <= told_elsewhere
