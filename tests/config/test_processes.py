import pytest

from reflection_app.config import processes
from reflection_app.config.child_process import Command

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
    return processes.web(shared, listener=7)


@pytest.mark.parametrize("command", [web, processes.beat, processes.first_start])
def test_processes_other_than_the_worker_see_settings_and_no_provider_keys(command: object) -> None:
    assert callable(command)
    seen = command(processes.shared_environment(local_model_url="")).env

    assert seen.keys() >= HARMLESS.keys()
    assert not seen.keys() & SECRETS.keys()


def test_the_worker_sees_provider_keys_and_the_local_models_own() -> None:
    seen = processes.worker(processes.shared_environment(local_model_url=""), local_model_key="local").env

    assert seen.items() >= (SECRETS | {"LOCAL_MODEL_KEY": "local"}).items()


def test_all_are_told_the_data_folder_and_where_the_local_model_is() -> None:
    shared = processes.shared_environment(local_model_url="http://127.0.0.1:9/v1")

    for command in (web(shared), processes.worker(shared, local_model_key="k"), processes.beat(shared)):
        assert command.env.items() >= shared.items()
        assert shared.keys() >= {"REFLECTION_DATA_DIR", "LOCAL_MODEL_URL"}


def test_a_provider_key_without_a_model_is_noticed() -> None:
    assert processes.keys_without_model({"OPENAI_API_KEY": "sk"}) == ["OPENAI_API_KEY"]
    assert processes.keys_without_model({"OPENAI_API_KEY": "sk", "LLM_MODEL": "openai/x"}) == []
