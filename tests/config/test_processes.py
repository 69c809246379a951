import re
from io import StringIO
from types import SimpleNamespace

import pytest
from celery import current_app
from pytest_django.fixtures import Settings

from reflection_app.config import jobs
from reflection_app.config.schedule import FRESH, LOOKING_BACK, QUEUE_OF, QUEUES, REPEATED, SWEEP, beat_schedule
from reflection_app.config.up import processes
from reflection_app.config.up.processes import Command

SECRETS = {
    "OPENAI_API_KEY": "sk-1",
    "AWS_SECRET_ACCESS_KEY": "aws",
    "OPENAI_API_BASE": "http://x",
    "LOCAL_MODEL_KEY": "k",
}
HARMLESS = {
    "PATH": "/bin",
    "LC_ALL": "C.UTF-8",
    "PYTHONPATH": "/src",
    "LLM_MODEL": "openai/x",
    "DATABASE_URL": "postgresql://h/d",
}


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (SECRETS | HARMLESS).items():
        monkeypatch.setenv(name, value)


def web(shared: dict[str, str]) -> Command:
    return processes.web(shared, listener=7)[-1]


def app(shared: dict[str, str]) -> Command:
    return processes.fork_server(processes.APP, shared, channel=9)


@pytest.mark.parametrize("command", [web, app, processes.prepare, processes.first_start])
def test_processes_other_than_the_worker_see_settings_and_no_provider_keys(command: object) -> None:
    assert callable(command)
    seen = command(processes.shared_environment(local_model_url="")).env

    assert seen.keys() >= HARMLESS.keys()
    assert not seen.keys() & SECRETS.keys()


def workers(shared: dict[str, str]) -> list[Command]:
    return processes.workers(shared, local_model_key="local")


def test_the_workers_see_provider_keys_and_the_local_models_own(settings: Settings) -> None:
    settings.WORKER_PROCESSES = 3
    for worker in workers(processes.shared_environment(local_model_url="")):
        assert worker.env.items() >= (SECRETS | {"LOCAL_MODEL_KEY": "local"}).items()


def test_every_queue_has_its_workers_and_only_the_last_looks_back(settings: Settings) -> None:
    for number in (1, 2, 4):
        settings.WORKER_PROCESSES = number
        started = workers(processes.shared_environment(local_model_url=""))
        queues = [command.argv[command.argv.index("-Q") + 1].split(",") for command in started]
        assert len(started) == number
        assert {one for of_worker in queues for one in of_worker} == {queue.name for queue in QUEUES}
        assert [LOOKING_BACK in of_worker for of_worker in queues] == [*[False] * (number - 1), True]
        assert [FRESH in of_worker for of_worker in queues] == [*[True] * (number - 1), number == 1]
        assert all(SWEEP in of_worker for of_worker in queues)
        assert len({command.name for command in started}) == number


def test_one_worker_has_beat_which_is_the_last(settings: Settings) -> None:
    for number in (1, 2, 4):
        settings.WORKER_PROCESSES = number
        started = workers(processes.shared_environment(local_model_url=""))
        assert ["--with-beat" in command.argv for command in started] == [*[False] * (number - 1), True]


def test_workers_are_forked_from_the_process_with_provider_keys_and_all_others_from_the_one_without() -> None:
    shared = processes.shared_environment(local_model_url="")
    with_models = processes.fork_server(processes.APP_WITH_MODELS, shared, channel=9)
    assert with_models.env.items() >= SECRETS.items()
    assert {worker.forked_from for worker in workers(shared)} == {with_models.name}
    others = (with_models, web(shared), processes.prepare(shared), processes.first_start(shared))
    assert {command.forked_from for command in others} == {app(shared).name}
    assert not app(shared).forked_from


def test_all_that_is_asked_for_again_and_again_has_a_queue_that_somebody_works_at() -> None:
    assert jobs.__name__ == "reflection_app.config.jobs"  # imported, and so are its tasks
    schedule = beat_schedule(5).values()
    tasks = {f"reflection_app.{name}" for name in QUEUE_OF} | {entry["task"] for entry in schedule}
    assert tasks <= {name for name in current_app.tasks if name.startswith("reflection_app.")}
    sent = [(task, entry["options"]["queue"]) for entry in schedule for task in entry["args"] or [entry["task"]]]
    queues = {f"reflection_app.{task}": queue for task, queue, _every_s, _expires_s in REPEATED}
    assert dict(sent) == queues | {"reflection_app.runs.jobs.sweep": SWEEP}
    assert len(dict(sent)) == len(sent)


def test_repeated_tasks_that_share_a_message_do_not_share_a_failure(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    done: list[str] = []
    tasks = {"one": lambda: done.append("one"), "fails": lambda: done[5], "two": lambda: done.append("two")}
    monkeypatch.setattr(jobs, "current_app", SimpleNamespace(tasks=tasks))
    jobs.repeat("one", "fails", "two")
    assert done == ["one", "two"]
    assert "fails failed" in caplog.text


def test_a_provider_key_without_a_model_is_noticed() -> None:
    assert processes.keys_without_model({"OPENAI_API_KEY": "sk"}) == ["OPENAI_API_KEY"]
    assert processes.keys_without_model({"OPENAI_API_KEY": "sk", "LLM_MODEL": "openai/x"}) == []
    assert processes.keys_without_model({"OPENAI_API_KEY": "sk", "FC_MODEL": "gpt-4o-mini"}) == []


def test_names_that_change_nothing_are_noticed() -> None:
    assert processes.names_without_effect({"ENABLE_VERBOSE_STEPS": "true", "PATH": "/bin"}) == ["ENABLE_VERBOSE_STEPS"]


def test_the_embedded_postgres_has_room_for_all_processes_of_a_large_machine(settings: Settings) -> None:
    settings.DATABASE_POOL_SIZE = 20
    for web_servers, workers_, room in ((2, 2, 200), (4, 8, 272)):
        settings.WEB_PROCESSES, settings.WORKER_PROCESSES = web_servers, workers_
        assert int(processes.options_of_postgres()["max_connections"]) == room


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def test_a_file_gets_a_line_for_each_step_that_is_done() -> None:
    log = processes.JointLog(StringIO())
    with log.step("Engines"):
        log.say("a line")
    with pytest.raises(KeyError), log.step("Tables"):
        raise KeyError
    assert isinstance(log.stream, StringIO)
    first, second = log.stream.getvalue().splitlines()
    assert first == "up       | a line"
    assert re.fullmatch(r"✓ Engines +0\.0 s", second)


def test_a_terminal_shows_the_steps_under_way_below_all_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    log = processes.JointLog(Terminal())
    assert isinstance(log.stream, StringIO)
    with log.step("Demo"), log.step("Web"):
        log.say("a line", name="web")
        assert log.stream.getvalue().endswith("\r\x1b[Kweb      | a line\n… Demo, Web")
    assert log.stream.getvalue().endswith("s\n")
