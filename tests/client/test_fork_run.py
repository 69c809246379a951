"""Forking a run by the client, with another model from the fork on."""

import pytest
from pytest_django.fixtures import Settings
from reflection_desk import Invalid

from reflection_app.adapters.llm.scripted import register_script
from reflection_app.runs.models import Run
from tests.client.conftest import Served
from tests.runs.critiques import critique

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_fork_goes_on_with_the_model_that_was_chosen_for_it(served: Served, settings: Settings) -> None:
    served.critic(critique(40), critique(90, approved=True))
    strict = register_script("client-strict", {"attempt-1/critique": critique(95, approved=True)})
    settings.LLM_OFFERED_MODELS = [strict]
    served.project.allowed_models = [strict]
    served.project.save(update_fields=["allowed_models"])
    with served.client() as desk:
        task = desk.submit_task("Write a haiku.", mode="actor_critic", limits={"max_iterations": 2})
        assert task.run is not None
        run = desk.wait_for_run(task.run.id)
        assert (run.outcome, run.attempts) == ("succeeded", 2)
        with pytest.raises(Invalid, match="nothing was forked"):
            desk.fork_run(run.id, from_step=2, models={"critic": "ollama/llama3"})
        fork = desk.wait_for_run(desk.fork_run(run.id, from_step=2, models={"critic": strict}).id)
    assert (fork.outcome, fork.attempts) == ("succeeded", 1)
    assert Run.objects.get(pk=fork.id).steps.get(key="attempt-1/critique").model == strict
