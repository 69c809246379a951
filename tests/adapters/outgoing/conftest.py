from ipaddress import ip_network

import pytest
from pytest_django import Settings


@pytest.fixture
def loopback(settings: Settings) -> None:
    """Requests may go to 127.0.0.1, as an operator could allow it."""
    settings.OUTGOING_ALLOWED_NETWORKS = (ip_network("127.0.0.1/32"),)
