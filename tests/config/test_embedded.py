import asyncio
import os
from pathlib import Path

import pytest

from reflection_app.config.up import engines
from reflection_app.config.up.engines import EmbeddedEngineError

ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="root gives PostgreSQL a user of its own; others do not")


@pytest.mark.parametrize(
    ("engine", "variable"), [(engines.installation, "DATABASE_URL"), (engines.binary, "REDIS_URL")]
)
def test_a_platform_without_the_wheel_is_told_which_variable_to_set(
    monkeypatch: pytest.MonkeyPatch, engine: object, variable: str
) -> None:
    monkeypatch.setattr(f"{engine.__module__}.find_spec", lambda _name: None)

    assert callable(engine)
    with pytest.raises(EmbeddedEngineError, match=f"set {variable} to a"):
        engine()


def test_a_cluster_that_was_left_unfinished_is_made_anew() -> None:
    # The tests' own temporary folder is closed to other users, and PostgreSQL may be one.
    data = Path(os.environ["REFLECTION_DATA_DIR"]) / "cluster-test"
    (data / "postgres.unfinished" / "half").mkdir(parents=True)

    command = asyncio.run(engines.prepared_postgres(data, sockets=data / "run", sync=False))

    assert (data / "postgres" / "PG_VERSION").read_text().strip() == "18"
    assert not (data / "postgres.unfinished").exists()
    assert (data / "postgres").stat().st_mode & 0o777 == 0o700
    assert str(data / "postgres") in command.argv
    assert "--listen_addresses=" in command.argv


def test_a_folder_of_somebody_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")

    with pytest.raises(EmbeddedEngineError, match="belongs to somebody else"):
        engines.private_folder(tmp_path / "link", user=None)


@ROOT_ONLY
def test_folders_above_are_opened_for_passing_through_and_not_for_reading() -> None:
    closed = Path(os.environ["REFLECTION_DATA_DIR"]) / "closed"
    closed.mkdir(mode=0o700)

    assert closed in engines.make_passable(closed / "data")
    assert closed.stat().st_mode & 0o777 == 0o701
