"""Work that agents pull: each gets another run, and nobody makes an attempt that somebody else holds."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.utils import timezone

from reflection_app.core.audit import AuditEntry
from reflection_app.core.models import Project, Scope
from reflection_app.runs.advance import advance
from reflection_app.runs.models import AgentLease, Attempt, Run
from tests import given, then, when
from tests.api.caller import Answer, Caller

pytestmark = pytest.mark.django_db


@pytest.fixture
def agent(project: Project) -> Caller:
    return given.caller(project, [Scope.TASKS_WRITE, Scope.RUNS_READ])


def waiting(project: Project, **task: Any) -> Run:
    run = given.scripted_run({}, project=project, execution="external", tests=given.TESTS, **task)
    advance(run.pk)
    return run


def claim(by: Caller, **data: Any) -> Answer:
    return by.post("tasks/claim", data)


def run_out(run: Run) -> None:
    AgentLease.objects.filter(run=run).update(until=timezone.now() - timedelta(seconds=1))


def test_the_longest_waiting_is_given_first_with_all_that_is_needed_to_make_it(agent: Caller) -> None:
    first, second = waiting(agent.project, agent="coder"), waiting(agent.project)
    one, other = claim(agent, holder="coder-3"), claim(agent)
    assert [one.body["run"]["id"], other.body["run"]["id"]] == [str(first.pk), str(second.pk)]
    assert one.body["task"]["agent"] == "coder"
    assert one.body["run"]["next"]["attempt"] == 1
    assert one.body["run"]["next"]["prompt"]
    assert claim(agent).status == 204
    assert AgentLease.objects.get(run=first).name == f"coder-3 (key {agent.key.name})"
    trail = AuditEntry.objects.filter(action="run.claimed_by_agent", target_id=first.pk)
    assert [entry.after for entry in trail] == [{"holder": "coder-3"}]


def test_only_work_of_the_kind_that_is_asked_for_is_given(agent: Caller) -> None:
    waiting(agent.project, agent="writer", kind="code_generation")
    assert claim(agent, agents=["coder"]).status == 204
    assert claim(agent, kinds=["research"]).status == 204
    assert claim(agent, modes=["reflexion"]).status == 204
    assert claim(agent, agents=["coder", "writer"], kinds=["code_generation"], modes=["external_loop"]).status == 200


@pytest.mark.django_db(transaction=True)
def test_of_many_agents_at_once_each_gets_another_run(agent: Caller) -> None:
    runs = {str(waiting(agent.project).pk) for _ in range(4)}

    def ask(_: int) -> Answer:
        try:
            return claim(agent)
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, range(8)))
    sent = [answer.body["run"]["id"] for answer in answers if answer.status == 200]
    assert (sorted(sent), len(answers) - len(sent)) == (sorted(runs), 4)


def test_nobody_else_hands_in_what_an_agent_holds(agent: Caller) -> None:
    run = waiting(agent.project)
    work = claim(agent, holder="first").body
    path = f"runs/{run.pk}/attempts"
    for token in (None, str(uuid4())):
        refused = agent.post(path, {"content": given.WRONG, "attempt": 1} | ({"lease_token": token} if token else {}))
        then.refused(refused, 409)
        assert refused.body["type"].endswith("held-by-another-agent")
        assert "first" in refused.body["detail"]
    assert not Attempt.objects.filter(run=run).exists()
    taken = agent.post(path, {"content": given.WRONG, "attempt": 1, "lease_token": work["lease_token"]})
    assert taken.status == 202


def test_the_hold_lasts_over_the_judging_and_the_same_agent_goes_on_with_the_ticket(agent: Caller) -> None:
    run = waiting(agent.project)
    token = claim(agent, lease_s=60).body["lease_token"]
    path = f"runs/{run.pk}/attempts"
    agent.post(path, {"content": given.WRONG, "lease_token": token})
    assert claim(agent).status == 204, "what is judged waits for no agent"
    advance(run.pk)
    assert claim(agent).status == 204, "its second attempt is still the holder's"
    assert agent.post(path, {"content": given.RIGHT, "lease_token": token}).status == 202
    when.advances(run)
    assert (run.outcome, run.attempts_made) == ("succeeded", 2)
    then.refused(agent.post(f"runs/{run.pk}/heartbeat", {"lease_token": token}), 409)


def test_whoever_falls_silent_loses_the_run_to_the_next_who_asks(agent: Caller) -> None:
    run = waiting(agent.project)
    lost = claim(agent, holder="silent").body["lease_token"]
    run_out(run)
    work = claim(agent, holder="next")
    assert work.body["run"]["id"] == str(run.pk)
    for path, body in (
        ("attempts", {"content": given.WRONG, "lease_token": lost}),
        ("heartbeat", {"lease_token": lost}),
    ):
        refused = agent.post(f"runs/{run.pk}/{path}", body)
        then.refused(refused, 409)
        assert "next" in refused.body["detail"]
    then.refused(agent.post(f"runs/{run.pk}/release", {"lease_token": lost}), 409)
    told = AuditEntry.objects.filter(action="run.claimed_by_agent").order_by("created_at").last()
    assert told is not None
    assert told.after["taken_over_from"].startswith("silent")


def test_a_hold_that_ran_out_and_that_nobody_took_over_is_renewed(agent: Caller) -> None:
    run = waiting(agent.project)
    token = claim(agent, lease_s=30).body["lease_token"]
    run_out(run)
    kept = agent.post(f"runs/{run.pk}/heartbeat", {"lease_token": token})
    assert kept.status == 200
    assert AgentLease.objects.get(run=run).until > timezone.now()
    run_out(run)
    assert agent.post(f"runs/{run.pk}/attempts", {"content": given.WRONG, "lease_token": token}).status == 202
    assert AgentLease.objects.get(run=run).until > timezone.now()


def test_what_is_given_back_is_given_to_the_next(agent: Caller) -> None:
    run = waiting(agent.project)
    token = claim(agent).body["lease_token"]
    assert agent.post(f"runs/{run.pk}/release", {"lease_token": token}).status == 204
    then.refused(agent.post(f"runs/{run.pk}/release", {"lease_token": token}), 409)
    assert claim(agent).body["lease_token"] != token


@pytest.mark.django_db(transaction=True)
def test_who_waits_for_work_is_given_it_when_it_comes(agent: Caller) -> None:
    def ask() -> Answer:
        try:
            return agent.post("tasks/claim?wait=30", {})
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(ask)
        run = waiting(agent.project)
        assert asked.result(timeout=60).body["run"]["id"] == str(run.pk)


def test_what_cannot_be_meant_is_refused_and_nothing_is_held(agent: Caller) -> None:
    waiting(agent.project)
    nonsense = ({"lease_s": 1}, {"lease_s": "NaN"}, {"agents": "coder"}, {"modes": ["none"]}, {"agent": "coder"})
    for data in nonsense:
        then.refused(claim(agent, **data), 400)
    assert not AgentLease.objects.exists()


def test_another_project_gets_and_touches_nothing(agent: Caller) -> None:
    run = waiting(agent.project)
    stranger = given.caller(given.project(), [Scope.ADMIN])
    assert claim(stranger).status == 204
    token = claim(agent).body["lease_token"]
    for path in ("heartbeat", "release"):
        then.refused(stranger.post(f"runs/{run.pk}/{path}", {"lease_token": token}), 404)
    reader = given.caller(agent.project, [Scope.RUNS_READ])
    then.refused(claim(reader), 403)
