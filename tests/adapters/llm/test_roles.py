import pytest
from pytest_django.fixtures import Settings

from reflection_app.adapters.llm import LOCAL_MODEL, NoModelConfigured, complete, model_for
from reflection_app.adapters.llm.roles import has_critic, has_vision, offered_models
from tests.adapters.llm.conftest import asking


@pytest.fixture(autouse=True)
def nothing_configured(settings: Settings) -> None:
    settings.LLM_MODEL = settings.LLM_ACTOR_MODEL = settings.LLM_CRITIC_MODEL = settings.LOCAL_MODEL_URL = ""
    settings.LLM_SELF_MODEL = settings.LLM_REFLECTOR_MODEL = settings.LLM_VISION_MODEL = ""


def test_each_source_of_a_name_goes_before_the_next(settings: Settings) -> None:
    settings.LOCAL_MODEL_URL = "http://127.0.0.1:9"
    assert model_for("critic", {}) == LOCAL_MODEL
    settings.LLM_MODEL = "openai/general"
    assert model_for("critic", {}) == "openai/general"
    settings.LLM_CRITIC_MODEL = "openai/critic"
    assert model_for("critic", {}) == "openai/critic"
    assert model_for("critic", {"default": "openai/task"}) == "openai/task"
    assert model_for("critic", {"default": "openai/task", "critic": "openai/task-critic"}) == "openai/task-critic"


def test_a_model_that_looks_back_is_the_one_that_did_the_work(settings: Settings) -> None:
    settings.LLM_MODEL, settings.LLM_ACTOR_MODEL = "openai/general", "openai/actor"
    assert model_for("self", {}) == model_for("reflector", {}) == "openai/actor"
    assert model_for("self", {"actor": "openai/task-actor"}) == "openai/task-actor"
    assert model_for("reflector", {"default": "openai/task"}) == "openai/task"
    settings.LLM_SELF_MODEL = "openai/self"
    assert model_for("self", {}) == "openai/self"


def test_who_has_a_model_of_its_own_does_not_go_along_with_the_chosen_actor(settings: Settings) -> None:
    settings.LLM_MODEL, settings.LLM_SELF_MODEL, settings.LLM_REFLECTOR_MODEL = (
        "openai/general",
        "openai/self",
        "openai/r",
    )
    chosen = {"actor": "openai/task-actor"}
    assert model_for("actor", chosen) == "openai/task-actor"
    assert model_for("self", chosen) == "openai/self"
    assert model_for("reflector", chosen) == model_for("error_reflector", chosen) == "openai/r"
    assert model_for("critic", chosen) == "openai/general"
    # What is named for the whole project goes before what the desk is configured with, as ever.
    assert model_for("self", chosen | {"default": "openai/project"}) == "openai/project"
    assert model_for("self", chosen | {"self": "openai/task-self"}) == "openai/task-self"


def test_what_is_chosen_for_the_reflector_is_for_all_reflectors_without_a_model_of_their_own(
    settings: Settings,
) -> None:
    settings.LLM_MODEL, settings.LLM_REFLECTOR_MODEL = "openai/general", "openai/r"
    settings.LLM_MEMORY_REFLECTOR_MODEL = "openai/memories"
    chosen = {"reflector": "openai/task-reflector", "actor": "openai/task-actor", "default": "openai/project"}
    assert model_for("reflector", chosen) == model_for("error_reflector", chosen) == "openai/task-reflector"
    assert model_for("memory_reflector", {"reflector": "openai/task-reflector"}) == "openai/memories"


@pytest.mark.parametrize("name", ["none", "None", " NONE "])
def test_the_word_none_says_that_there_is_no_critic(settings: Settings, name: str) -> None:
    assert has_critic({})
    assert not has_critic({"critic": name})
    settings.LLM_CRITIC_MODEL = name
    assert not has_critic({})
    assert has_critic({"default": "openai/task"})


def test_the_local_model_is_not_called_where_none_runs() -> None:
    with pytest.raises(NoModelConfigured, match=r"manage\.py up"):
        complete(asking(LOCAL_MODEL))


def test_no_other_model_stands_in_for_one_that_sees(settings: Settings) -> None:
    settings.LOCAL_MODEL_URL, settings.LLM_MODEL = "http://127.0.0.1:9", "openai/general"
    chosen = {"default": "openai/project", "actor": "openai/task-actor"}
    assert not has_vision(chosen)
    with pytest.raises(NoModelConfigured, match=r"Set LLM_VISION_MODEL to"):
        model_for("vision", chosen)
    settings.LLM_VISION_MODEL = "openai/eyes"
    assert has_vision(chosen)
    assert model_for("vision", chosen) == "openai/eyes"
    assert model_for("vision", chosen | {"vision": "openai/task-eyes"}) == "openai/task-eyes"
    assert "openai/eyes" in offered_models()


@pytest.mark.parametrize("name", ["none", " NONE ", LOCAL_MODEL])
def test_nobody_sees_by_the_word_none_nor_by_the_local_model(settings: Settings, name: str) -> None:
    settings.LLM_VISION_MODEL = "openai/eyes"
    assert not has_vision({"vision": name})
