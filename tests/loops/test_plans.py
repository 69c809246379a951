"""Of a plan its faults are found, all of them and nothing else; a valid one is put into an order to follow."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from reflection_app.loops.answer_reading import read_answer
from reflection_app.loops.plans import MOST_STEPS, Plan, PlanFault, PlanStep, check_plan, cycles, in_order

TOOLS = ("search", "python")
fewer = settings(max_examples=40)


def step(step_id: str, *requires: str, tool: str | None = None) -> PlanStep:
    return PlanStep(id=step_id, description=f"do {step_id}", tool=tool, requires=requires)


def faults(plan: Plan, **more: Any) -> list[tuple[PlanFault, tuple[str, ...]]]:
    return [(issue.fault, issue.steps) for issue in check_plan(plan, tools=TOOLS, **more).issues]


@st.composite
def valid_plans(draw: st.DrawFn, *, least: int = 1) -> Plan:
    """Plans whose steps require only steps that stand before them in some order, listed in another."""
    count = draw(st.integers(least, 12))
    steps = []
    for number in range(count):
        required = draw(st.lists(st.integers(0, number - 1), unique=True, max_size=4)) if number else []
        tool = draw(st.sampled_from([None, *TOOLS]))
        steps.append(step(f"s{number}", *(f"s{other}" for other in required), tool=tool))
    return Plan(steps=tuple(draw(st.permutations(steps))))


def changed(plan: Plan, place: int, **fields: Any) -> Plan:
    steps = list(plan.steps)
    steps[place] = steps[place].model_copy(update=fields)
    return Plan(steps=tuple(steps))


@fewer
@given(valid_plans())
def test_a_plan_without_faults_has_no_issues_and_an_order_that_can_be_followed(plan: Plan) -> None:
    assert faults(plan) == []
    done: set[str] = set()
    for one in in_order(plan):
        assert set(one.requires or ()) <= done
        done.add(one.id)
    assert done == {one.id for one in plan.steps}


@fewer
@given(st.lists(st.sampled_from(TOOLS), max_size=8))
def test_steps_that_need_nothing_keep_the_order_of_the_plan(tools: list[str]) -> None:
    plan = Plan(steps=tuple(step(f"s{number}", tool=tool) for number, tool in enumerate(tools)))
    assert in_order(plan) == list(plan.steps)


@fewer
@given(valid_plans(), st.data())
def test_exactly_the_planted_faults_are_found(plan: Plan, data: st.DataObject) -> None:
    places = data.draw(st.lists(st.integers(0, len(plan.steps) - 1), unique=True, max_size=4), label="places")
    planted = []
    for place in places:
        one = plan.steps[place]
        match data.draw(st.sampled_from(["tool", "requires", "missing"])):
            case "tool":
                plan = changed(plan, place, tool="telepathy")
                planted.append((PlanFault.UNKNOWN_TOOL, (one.id,)))
            case "requires":
                plan = changed(plan, place, requires=(*(one.requires or ()), "nowhere"))
                planted.append((PlanFault.UNKNOWN_REQUIRES, (one.id,)))
            case "missing":
                plan = changed(plan, place, requires=None)
                planted.append((PlanFault.MISSING_REQUIRES, (one.id,)))
    assert sorted(faults(plan)) == sorted(planted)


@fewer
@given(valid_plans(), st.integers(1, 5))
def test_a_planted_circle_is_found_once_and_named_in_order(plan: Plan, size: int) -> None:
    ring = [f"r{number}" for number in range(size)]
    ringed = [step(name, ring[(number + 1) % size]) for number, name in enumerate(ring)]
    whole = Plan(steps=(*plan.steps, *ringed))
    assert faults(whole) == [(PlanFault.CYCLE, tuple(ring))]


@fewer
@given(st.integers(1, 7), st.data())
def test_circles_are_found_just_where_following_the_needs_comes_back(count: int, data: st.DataObject) -> None:
    ids = [f"s{number}" for number in range(count)]
    steps = [step(one, *data.draw(st.lists(st.sampled_from(ids), unique=True, max_size=3))) for one in ids]
    needs = {one.id: set(one.requires or ()) for one in steps}
    for _ in range(count):  # all that a step needs, directly or not
        needs = {one: found | set().union(*(needs[other] for other in found)) for one, found in needs.items()}
    found = cycles(steps)

    assert {one for cycle in found for one in cycle} == {one for one in ids if one in needs[one]}
    direct = {one.id: one.requires or () for one in steps}
    for cycle in found:
        assert all(following in direct[one] for one, following in zip(cycle, (*cycle[1:], cycle[0]), strict=True))


@fewer
@given(valid_plans(), st.data())
def test_an_id_given_twice_is_named_once(plan: Plan, data: st.DataObject) -> None:
    twin = data.draw(st.sampled_from(plan.steps))
    whole = Plan(steps=(*plan.steps, *[twin.model_copy(update={"requires": ()})] * data.draw(st.integers(1, 3))))
    assert faults(whole) == [(PlanFault.DUPLICATE_ID, (twin.id,))]


def test_an_empty_plan_and_one_with_too_many_steps_are_faults() -> None:
    assert faults(Plan(steps=())) == [(PlanFault.EMPTY, ())]
    long = Plan(steps=tuple(step(f"s{number}") for number in range(MOST_STEPS + 1)))
    assert faults(long) == [(PlanFault.TOO_MANY_STEPS, ())]
    assert faults(Plan(steps=long.steps[:MOST_STEPS])) == []


def test_steps_done_by_an_earlier_plan_may_be_required_but_not_used_again() -> None:
    plan = Plan(steps=(step("b", "a"), step("c", "b")))
    assert faults(plan) == [(PlanFault.UNKNOWN_REQUIRES, ("b",))]
    assert faults(plan, done={"a"}) == []
    assert faults(plan, done={"a", "c"}) == [(PlanFault.DUPLICATE_ID, ("c",))]


def test_a_plan_is_read_from_what_models_write() -> None:
    said = """Here is the plan:
    {"steps": [{"id": 1, "description": "look", "tool": "search", "requires": null, "effort": "low"},
               {"id": 2, "description": "write", "tool": "none", "requires": 1}]}"""
    plan = read_answer(said, schema=Plan)
    assert [(one.id, one.tool, one.requires) for one in plan.steps] == [("1", "search", None), ("2", None, ("1",))]
    assert faults(plan) == [(PlanFault.MISSING_REQUIRES, ("1",))]
