"""Every page of a filled project, in both color schemes: accessible, and no wider than a phone."""

from collections.abc import Callable

import pytest

from reflection_app.core.models import Role
from tests import given
from tests.browser.conftest import Visitor
from tests.browser.looks import problems_of
from tests.pages.scene import addresses_of
from tests.pages.test_snapshots import OWN_PAGES, STORED

# Others are parts of pages.
WHOLE = sorted(file.stem for file in (STORED / "en").glob("*.yaml") if file.read_text().startswith("- main:"))


@pytest.mark.exhaustive("walks all pages in both color schemes")
@pytest.mark.django_db(transaction=True)
def test_every_page_is_accessible_and_fits_a_phone(visit: Callable[..., Visitor]) -> None:
    project = given.unsure_project("desk")
    addresses = OWN_PAGES | addresses_of(project)
    visitor = visit(given.member(project, Role.ADMIN))
    assert len(WHOLE) > 60
    found = {name: problems_of(visitor.go(addresses[name])) for name in WHOLE}
    assert {name: problems for name, problems in found.items() if problems} == {}
