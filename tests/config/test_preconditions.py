import socket
from pathlib import Path

import pytest

from reflection_app.config.up.preconditions import Refused, free_port, listening_socket, sole_use


def test_a_data_folder_serves_one_copy_at_a_time(tmp_path: Path) -> None:
    for _ in range(2):
        with (
            sole_use(tmp_path / "data"),
            pytest.raises(Refused, match="Another copy is running"),
            sole_use(tmp_path / "data"),
        ):
            pytest.fail("the second copy was let in")


def test_a_port_in_use_is_refused_with_another_as_the_way_out() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(Refused, match=f"Port {port} is in use.*PORT={port + 1} make run"):
            listening_socket("127.0.0.1", port=port)


def test_a_free_port_is_listened_on_and_so_nobody_else_gets_it() -> None:
    port = free_port()
    with listening_socket("127.0.0.1", port=port) as ours:
        assert ours.getsockname() == ("127.0.0.1", port)
        with pytest.raises(Refused, match="is in use"):
            listening_socket("127.0.0.1", port=port)


def test_where_nobody_named_a_port_the_next_free_one_is_taken() -> None:
    with (
        listening_socket("127.0.0.1", port=free_port()) as first,
        listening_socket("127.0.0.1", port=first.getsockname()[1], or_next=20) as second,
    ):
        assert first.getsockname()[1] < second.getsockname()[1] <= first.getsockname()[1] + 20


def test_an_address_that_is_not_this_machines_is_refused() -> None:
    with pytest.raises(Refused, match="Cannot listen on"):
        listening_socket("192.0.2.1", port=free_port())
