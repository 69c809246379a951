"""Posts that do a thing and go back: reading what the action takes, and leading on with a word of what was done."""

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from pydantic import BaseModel, ValidationError

from reflection_app.core.errors import InvalidInput
from reflection_app.web.access import DeskRequest
from reflection_app.web.forms import complaints


def read_input[Read: BaseModel](model: type[Read], typed: Mapping[str, Any], *, refusal: str = "") -> Read:
    """What was typed, as the action takes it. Raises InvalidInput, with a plain sentence for each field."""
    try:
        return model.model_validate(typed)
    except ValidationError as error:
        raise InvalidInput(refusal, errors=complaints(error)) from None


def typed_text(request: DeskRequest, name: str) -> str:
    """A longer text, its line ends as they were before the browser made CR LF of them."""
    return request.POST.get(name, "").replace("\r\n", "\n")


def go_back(request: DeskRequest, page: str, *args: object, done: str = "") -> HttpResponse:
    """To a page of the project, which says what was done."""
    if done:
        messages.success(request, done)
    return redirect(page, request.place.project.slug, *args)
