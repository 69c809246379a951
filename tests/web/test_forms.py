import pytest
from django.http import QueryDict
from django.test import RequestFactory
from pydantic import BaseModel, Field

from reflection_app.core.errors import Conflict, InvalidInput
from reflection_app.web.forms import Form, read_form
from reflection_app.web.list_pages import Filters, id_of, one_of, text_of, whole_number


class Wanted(BaseModel):
    max_iterations: int = Field(ge=1, le=20)


def test_what_a_model_or_an_action_refuses_becomes_errors_of_the_form() -> None:
    form = Form({"max_iterations": "many", "name": ""})
    with form.collect_errors():
        Wanted.model_validate(form.values)
    with form.collect_errors():
        raise InvalidInput("no", errors=[{"field": "thing.name", "message": "missing"}, {"field": "", "message": "no"}])
    assert form.errors == {
        "max_iterations": ["A whole number from 1 to 20."],
        "name": ["missing"],
        "": ["no"],
    }
    assert (form.status, form.general) == (400, ["no"])


def test_any_other_refusal_goes_on_to_the_page_that_tells_it() -> None:
    form = Form({"name": ""})
    with pytest.raises(Conflict), form.collect_errors():
        raise Conflict("somebody was quicker")
    assert form.status == 200


def test_a_form_begins_with_what_is_saved_and_keeps_what_was_typed() -> None:
    asked, posted = RequestFactory().get("/?name=x"), RequestFactory().post("/", {"name": " typed ", "other": "x"})
    assert read_form(asked, ("name", "days"), {"name": "saved"}).values == {"name": "saved", "days": ""}
    assert read_form(posted, ("name", "days"), {"name": "saved"}).values == {"name": "typed", "days": ""}


def test_a_filter_that_is_not_understood_is_none() -> None:
    read = {"state": one_of(["open"]), "q": text_of(4), "id": id_of, "n": whole_number(5, 10)}
    asked = Filters.read(QueryDict("state=shut&q=+long+words&id=7&n=99&else=x"), **read)
    assert asked == {"state": "", "q": "long", "id": "", "n": "10"}
    assert (asked.any, asked.query) == (True, "q=long&n=10")
