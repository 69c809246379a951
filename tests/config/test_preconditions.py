import socket
from pathlib import Path

import pytest

from reflection_app.config.preconditions import Refused, check_port, free_port, sole_use


def test_a_data_folder_serves_one_copy_at_a_time(tmp_path: Path) -> None:
    with (
        sole_use(tmp_path / "data"),
        pytest.raises(Refused, match="Another copy is running"),
        sole_use(tmp_path / "data"),
    ):
        pytest.fail("the second copy was let in")


def test_a_data_folder_is_free_again_afterwards(tmp_path: Path) -> None:
    for _ in range(2):
        with sole_use(tmp_path):
            assert (tmp_path / "lock").exists()


def test_a_port_in_use_is_refused_with_another_as_the_way_out() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(Refused, match=f"Port {port} is in use.*PORT={port + 1} make run"):
            check_port("127.0.0.1", port=port)


def test_a_free_port_is_accepted() -> None:
    check_port("127.0.0.1", port=free_port())


def test_an_address_that_is_not_this_machines_is_refused() -> None:
    with pytest.raises(Refused, match="Cannot listen on"):
        check_port("192.0.2.1", port=free_port())
