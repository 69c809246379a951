"""The context graph of each loop, from the steps that it records."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from reflection_app.loops.graph import graph_of
from reflection_app.loops.graph_words import LONGEST, EdgeKind, Graph, NodeKind, RecordedStep

Fact = tuple[str, str, dict[str, Any]]


def steps(*facts: Fact) -> list[RecordedStep]:
    """Steps numbered from 1; the attempt is read from the key, as the journal does."""
    made = []
    for seq, (key, kind, more) in enumerate(facts, start=1):
        attempt = int(key.split("/")[0].removeprefix("attempt-")) if key.startswith("attempt-") else None
        made.append(RecordedStep(**{"seq": seq, "key": key, "kind": kind, "attempt": attempt, **more}))
    return made


def answer(number: int, **more: Any) -> Fact:
    return (f"attempt-{number}/answer", "generate", {"role": "actor", **more})


def ran_tests(number: int, failed: int) -> Fact:
    return (f"attempt-{number}/tests", "run_tests", {"tests_total": 3, "tests_failed": failed})


def verdict(number: int, word: str, *, score: float = 50, referee: int = 5, last: str = "verdict") -> Fact:
    return (f"attempt-{number}/{last}", "record_verdict", {"verdict": word, "score": score, "referee": referee})


def critique(number: int) -> Fact:
    return (f"attempt-{number}/critique", "generate", {"role": "critic"})


def told(graph: Graph) -> list[str]:
    """Each edge as `label of node -> label of edge -> label of node`."""
    names = {node.id: f"{node.label}#{node.attempt}" if node.attempt else node.label for node in graph.nodes}
    return [f"{names[edge.source]} -> {edge.label} -> {names[edge.target]}" for edge in graph.edges]


def test_code_that_failed_its_tests_once() -> None:
    graph = graph_of(
        steps(
            answer(1), ran_tests(1, 2), verdict(1, "REVISE"), answer(2), ran_tests(2, 0), verdict(2, "PASS", score=100)
        ),
        outcome="succeeded",
        best_attempt=2,
    )
    assert told(graph) == [
        "Task -> led_to -> Attempt 1#1",
        "Attempt 1#1 -> failed: 2 of 3 tests -> Tests#1",
        "Tests#1 -> rewound -> Attempt 2#2",
        "Attempt 2#2 -> validated -> Tests#2",
        "Tests#2 -> led_to -> Succeeded",
        "Tests#1 -> fixed -> Attempt 2#2",
    ]
    assert [node.label for node in graph.nodes if node.is_best] == ["Attempt 2"]
    assert [node.verdict for node in graph.nodes if node.kind is NodeKind.VALIDATION] == ["REVISE", "PASS"]


def test_a_person_overrules_the_critic_and_sends_back() -> None:
    review = ("attempt-1/review", "ask_reviewer", {"decision": "overrule", "verdict": "REVISE", "reviewer": "ann"})
    graph = graph_of(
        steps(
            answer(1),
            critique(1),
            ("attempt-1/critique/again-1", "generate", {"role": "critic"}),
            verdict(1, "PASS", score=80, referee=2),
            review,
            answer(2),
            critique(2),
            verdict(2, "PASS", score=95, referee=2),
            ("attempt-2/audit-draw", "draw", {}),
            ("attempt-2/audit", "request_audit", {}),
        ),
        outcome="succeeded",
    )
    assert told(graph) == [
        "Task -> led_to -> Attempt 1#1",
        "Attempt 1#1 -> validated -> Critique#1",
        "Critique#1 -> led_to -> Review#1",
        "Review#1 -> rewound -> Attempt 2#2",
        "Attempt 2#2 -> validated -> Critique#2",
        "Critique#2 -> led_to -> Random check#2",
        "Critique#2 -> led_to -> Succeeded",
    ]
    (review_node,) = (node for node in graph.nodes if node.label == "Review")
    assert review_node.detail == "overruled: revise"


def test_a_review_that_is_waited_for_is_the_last_thing() -> None:
    waiting = ("attempt-1/review", "ask_reviewer", {"state": "waiting"})
    graph = graph_of(steps(answer(1), critique(1), verdict(1, "REJECT", score=10, referee=2), waiting))
    assert told(graph)[1:] == ["Attempt 1#1 -> failed: rejected -> Critique#1", "Critique#1 -> led_to -> Review#1"]
    assert graph.nodes[-1].state == "waiting"


def test_a_tool_that_is_called_again_with_corrected_arguments() -> None:
    failed = {"tool": "weather", "tool_ok": False, "tool_error": "city is missing"}
    graph = graph_of(
        steps(
            ("attempt-1/call", "call_tool", failed),
            ("attempt-1/kept", "keep_attempt", {}),
            verdict(1, "REVISE", score=0, referee=4),
            ("attempt-2/arguments", "generate", {"role": "actor"}),
            ("attempt-2/call", "call_tool", {"tool": "weather", "tool_ok": True}),
            ("attempt-2/kept", "keep_attempt", {}),
            verdict(2, "PASS", score=100, referee=4),
        ),
        outcome="succeeded",
        best_attempt=2,
    )
    assert told(graph) == [
        "Task -> failed: city is missing -> weather#1",
        "weather#1 -> rewound -> Arguments#2",
        "Arguments#2 -> led_to -> weather#2",
        "weather#2 -> led_to -> Succeeded",
        "weather#1 -> fixed -> weather#2",
    ]
    kinds = [node.kind for node in graph.nodes]
    assert kinds == [NodeKind.TASK, NodeKind.TOOL_FAILURE, NodeKind.STEP, NodeKind.TOOL_CALL, NodeKind.OUTCOME]
    assert [node.id for node in graph.nodes if node.is_best] == ["step-5"]


def test_a_plan_is_revised_and_carried_out() -> None:
    planned = {"role": "planner"}
    graph = graph_of(
        steps(
            ("attempt-1/plan/make", "generate", planned),
            ("attempt-1/plan/checked-1", "record_plan", {"plan_issues": 2}),
            ("attempt-1/plan/revise-1", "generate", planned),
            ("attempt-1/plan/checked-2", "record_plan", {}),
            ("attempt-1/step-1/arguments", "generate", {"role": "actor"}),
            ("attempt-1/step-1/call", "call_tool", {"tool": "search", "tool_ok": False, "tool_error": "timed_out"}),
            ("attempt-1/step-1/arguments-1", "generate", {"role": "actor"}),
            ("attempt-1/step-1/call-1", "call_tool", {"tool": "search", "tool_ok": True}),
            ("attempt-1/step-1/outcome", "record_plan_step", {}),
            ("attempt-1/step-2/answer", "generate", {"role": "actor"}),
            answer(1),
            verdict(1, "PASS", score=100, referee=4, last="steps-verdict"),
        ),
        outcome="succeeded",
    )
    assert told(graph) == [
        "Task -> led_to -> Plan#1",
        "Plan#1 -> rewound -> Plan, revised#1",
        "Plan, revised#1 -> led_to -> Arguments#1",
        "Arguments#1 -> failed: timed_out -> search#1",
        "search#1 -> led_to -> Arguments#1",
        "Arguments#1 -> led_to -> search#1",
        "search#1 -> led_to -> Answer#1",
        "Answer#1 -> led_to -> Attempt 1#1",
        "Attempt 1#1 -> validated -> Check#1",
        "Check#1 -> led_to -> Succeeded",
        "search#1 -> fixed -> search#1",
    ]
    assert graph.nodes[1].failed
    assert not graph.nodes[2].failed


def test_a_session_of_an_agent_is_reflected_on() -> None:
    graph = graph_of(
        steps(
            ("turns-1", "await_turns", {}),
            ("reflection-1/answer", "generate", {"role": "reflector"}),
            ("reflection-1/kept", "record_reflection", {}),
            ("turns-2", "await_turns", {"state": "waiting"}),
        )
    )
    assert told(graph) == [
        "Task -> led_to -> Turns",
        "Turns -> reflected -> Reflection",
        "Reflection -> led_to -> Turns",
    ]


def test_an_adaptive_run_shows_how_its_loop_was_chosen() -> None:
    graph = graph_of(
        steps(("classify", "generate", {"role": "classifier"}), ("route", "choose_loop", {"mode": "actor_critic"}))
    )
    assert [(node.kind, node.label, node.detail) for node in graph.nodes[1:]] == [
        (NodeKind.ROUTE, "Classification", ""),
        (NodeKind.ROUTE, "Loop chosen", "actor critic"),
    ]


def test_a_step_that_failed_says_why_on_the_way_to_the_end() -> None:
    graph = graph_of(steps(answer(1, state="failed", error="the model\n refused")), outcome="failed", error="x" * 500)
    assert told(graph)[-1] == "Attempt 1#1 -> failed: the model refused -> Failed"
    assert len(graph.nodes[-1].detail) == LONGEST


def test_a_fork_shows_what_it_took_over_and_where_it_parted() -> None:
    inherited = [step.model_copy(update={"is_inherited": True}) for step in steps(answer(1), critique(1))]
    edited = RecordedStep(
        seq=3,
        key="attempt-1/verdict",
        kind="record_verdict",
        attempt=1,
        verdict="REVISE",
        is_edited=True,
        is_inherited=True,
    )
    graph = graph_of([*inherited, edited], parting_step=3)
    assert [(node.is_inherited, node.is_parting, node.is_edited) for node in graph.nodes] == [
        (False, False, False),
        (True, False, False),
        (True, True, True),
    ]


def test_what_is_not_known_is_a_node_all_the_same() -> None:
    graph = graph_of(steps(("attempt-1/web-search-3", "dance", {}), ("", "hum", {})), outcome="cancelled")
    assert [node.label for node in graph.nodes] == ["Task", "Web search", "Hum", "Cancelled"]


KINDS = (
    *("generate", "run_tests", "call_tool", "record_verdict", "keep_attempt", "draw", "ask_reviewer"),
    *("request_audit", "await_attempt", "await_turns", "choose_loop", "record_plan", "record_pick", "new"),
)
recorded = st.builds(
    RecordedStep,
    seq=st.just(0),
    key=st.sampled_from(("attempt-1/answer", "attempt-2/answer", "attempt-1/verdict", "plan/make", "")) | st.text(),
    kind=st.sampled_from(KINDS),
    state=st.sampled_from(("started", "waiting", "done", "failed", "abandoned")),
    attempt=st.none() | st.integers(1, 4),
    error=st.text(max_size=200),
    verdict=st.sampled_from(("", "PASS", "REVISE", "REJECT")),
    score=st.none() | st.floats(0, 100),
    tests_total=st.integers(0, 3),
    tests_failed=st.integers(0, 3),
    tool=st.text(max_size=200),
    tool_ok=st.none() | st.booleans(),
    is_inherited=st.booleans(),
)
any_steps = st.lists(recorded, max_size=40).map(
    lambda made: [step.model_copy(update={"seq": seq}) for seq, step in enumerate(made, start=1)]
)


@given(made=any_steps, outcome=st.sampled_from(("", "succeeded", "failed")), parting=st.none() | st.integers(1, 50))
def test_any_steps_give_one_connected_graph(made: list[RecordedStep], outcome: str, parting: int | None) -> None:
    graph = graph_of(made, outcome=outcome, parting_step=parting)
    ids = [node.id for node in graph.nodes]
    assert len(set(ids)) == len(ids)
    reached = {"task"}
    for edge in graph.edges:
        assert {edge.source, edge.target} <= set(ids)
        reached.add(edge.target)
    assert reached == set(ids)
    assert all(node.label and len(node.label) <= LONGEST + 10 for node in graph.nodes)
    assert all(ids.index(edge.source) < ids.index(edge.target) for edge in graph.edges)
    assert sum(node.is_parting for node in graph.nodes) <= 1
    assert {edge.kind for edge in graph.edges} <= set(EdgeKind)


def test_a_verdict_tells_of_the_minimum_requirements_and_names_what_was_not_met() -> None:
    short = verdict(1, "REVISE", referee=2)
    short[2].update(requirements_total=4, requirements_unmet=2)
    full = verdict(2, "PASS", score=100, referee=5)
    full[2].update(requirements_total=4)
    graph = graph_of(steps(answer(1), critique(1), short, answer(2), full), outcome="succeeded", best_attempt=2)
    assert "Attempt 1#1 -> failed: 2 of 4 requirements -> Critique#1" in told(graph)
    [checked] = [node for node in graph.nodes if node.label == "Minimum requirements"]
    assert checked.detail == "all 4 requirements met"
