import pytest

from tests.api.caller import Caller, make_caller


@pytest.fixture
def caller(db: None) -> Caller:
    return make_caller()
