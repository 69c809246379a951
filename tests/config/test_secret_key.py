from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from reflection_app.config.secret_key import secret_key


def test_a_given_key_is_used_and_nothing_is_kept(tmp_path: Path) -> None:
    assert secret_key("given", data_dir=tmp_path, production=False) == "given"
    assert not list(tmp_path.iterdir())


def test_production_refuses_to_start_without_a_key(tmp_path: Path) -> None:
    with pytest.raises(ImproperlyConfigured, match="SECRET_KEY is not set"):
        secret_key("", data_dir=tmp_path, production=True)


def test_a_generated_key_is_kept_private_and_the_same_next_time(tmp_path: Path) -> None:
    first = secret_key("", data_dir=tmp_path / "new", production=False)

    assert len(first) >= 50
    assert secret_key("", data_dir=tmp_path / "new", production=False) == first
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["secret_key"]
    assert (tmp_path / "new" / "secret_key").stat().st_mode & 0o777 == 0o600


def test_processes_that_start_together_agree_on_one_key(tmp_path: Path) -> None:
    for attempt in range(20):
        folder = tmp_path / str(attempt)
        with ThreadPoolExecutor(8) as threads:
            keys = set(threads.map(lambda _: secret_key("", data_dir=folder, production=False), range(8)))  # noqa: B023
        assert len(keys) == 1
        assert keys != {""}
