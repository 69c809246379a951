"""Without a sandbox nothing runs; and a sandbox that breaks is never the code's fault."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sandbox_runs import run_call

from desk_sandbox import SandboxFailed, SandboxUnavailable, bwrap, check, process
from desk_sandbox.code_tests import FailureReason


@pytest.fixture
def _forgotten() -> Iterator[None]:
    """The bubblewrap that was found is looked for again, and afterwards once more."""
    bwrap.forget()
    yield
    bwrap.forget()


def only(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bwrap, "candidates", lambda: iter([(path, "system")] if path else []))


def test_the_status_names_the_bubblewrap_that_starts() -> None:
    status = check()
    assert status.source in {"system", "wheel"}
    assert Path(status.path).exists()
    assert status.version


@pytest.mark.usefixtures("_forgotten")
def test_without_bubblewrap_code_is_refused_with_the_fix(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    only("", monkeypatch)
    with pytest.raises(SandboxUnavailable, match="apt-get install bubblewrap"):
        run_call(f"def f(): return open({str(tmp_path / 'ran')!r}, 'w')")
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("_forgotten")
def test_a_bubblewrap_that_cannot_start_is_unavailable_with_its_own_words(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    refusing = tmp_path / "bwrap"
    refusing.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && echo bubblewrap 0.9.0 && exit\necho no permissions >&2\nexit 1\n'
    )
    tmp_path.chmod(0o755)
    refusing.chmod(0o755)
    only(str(refusing), monkeypatch)
    with pytest.raises(SandboxUnavailable, match=r"no permissions|Permission denied"):
        check()


@pytest.mark.usefixtures("_forgotten")
def test_the_next_bubblewrap_is_taken_where_the_first_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    working = check()
    bwrap.forget()
    monkeypatch.setattr(bwrap, "candidates", lambda: iter([("/bin/false", "system"), (working.path, "wheel")]))
    assert check().path == working.path


def test_a_harness_that_breaks_is_a_failure_of_the_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "BOOTSTRAP", "raise RuntimeError('broken on purpose')")
    with pytest.raises(SandboxFailed, match="broken on purpose"):
        run_call("def f(): return 1")


def test_a_harness_that_babbles_is_a_failure_of_the_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "BOOTSTRAP", "print('nonsense')")
    with pytest.raises(SandboxFailed, match="no record"):
        run_call("def f(): return 1")


def test_a_harness_that_babbles_after_it_began_costs_the_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "BOOTSTRAP", "print('ready')\nprint('nonsense')")
    assert run_call("def f(): return 1").reason is FailureReason.CRASHED
