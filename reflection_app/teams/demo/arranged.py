"""What a team arranges for itself in the demo: a queue, views, a dashboard, guidelines with examples, comparisons, and
a tool that one of its runs waits to call.
"""

from django.contrib.auth.models import User

from reflection_app.adapters.llm.scripted import PREFIX
from reflection_app.comparisons.claiming import claim_next
from reflection_app.comparisons.judging import JudgementInput, judge_pair
from reflection_app.comparisons.models import Preference
from reflection_app.comparisons.sets import PairsInput, SetInput, create_set, hand_in_pairs
from reflection_app.core.audit import Actor
from reflection_app.core.models import Project
from reflection_app.metrics.dashboards import CHART, FIGURE, DashboardInput, keep_dashboard
from reflection_app.queues.changing import QueueInput, create_queue
from reflection_app.queues.models import ListName
from reflection_app.queues.saving import ViewInput, save_view
from reflection_app.rubrics.changing import (
    GuidelinesInput,
    change_guidelines,
)
from reflection_app.runs.advance import advance_inside
from reflection_app.tasks.submission import read_submission
from reflection_app.tasks.submitting import submit_task
from reflection_app.teams.models import Tool, ToolKind

GUIDELINES = """\
**Pass** what could be sent to the customer as it is. A wrong number, name or date is no matter of style: **revise** it,
and mark the passage.

- A price that is not in the list, or a promise that nobody made: **reject**.
- Code passes by its tests; look at what they leave out, such as empty input and other people's data.
- Tone: short, polite, no jargon. Say so as an issue of low severity, and let it pass.

Not sure? Say so in a comment, and skip it.
"""
MOST_EXAMPLES = 2
# An objective, the answer of the older prompt, and that of the newer one.
PAIRS = (
    (
        "Tell the customer that parcel 4417 is late.",
        "Dear customer, we regret to inform you that your parcel has been subject to a delay.",
        "Your parcel 4417 is late: it left Hamburg today and should be with you on Thursday. Sorry for the wait.",
    ),
    (
        "Summarise the ticket in one sentence.",
        "The customer writes about the app and the login and asks several questions about it.",
        "Since version 5.2 the app logs her out each morning; she wants to stay logged in.",
    ),
    (
        "Write the subject line of the reminder for invoice 1187.",
        "IMPORTANT: Please read this message regarding your open invoice!!!",
        "Invoice 1187 is due on Friday",
    ),
    (
        "Explain the refund in two sentences.",
        "The refund has been processed. It will arrive in 3 to 5 working days on the card that you paid with.",
        "We have refunded €49.00 to your card. It usually arrives within three to five working days.",
    ),
    (
        "把“订单已发货”写得更亲切一些。",
        "您的订单已经发货，请注意查收。",
        "好消息，您的包裹已经出发啦！预计周四送到，路上有消息会第一时间告诉您。",
    ),
    (
        "Name the function that turns a title into a part of an address.",
        "convert_title_to_url_part_string",
        "slugify",
    ),
    (
        "Answer: can I export my orders to Excel?",
        "Yes. Open Orders, choose the days, and press Export; the file opens in Excel.",
        "Yes, you can.",
    ),
    (
        "Say no to a discount, politely.",
        "Unfortunately this is not possible due to company policy.",
        "I can't give a discount on this order, but from three licences on the team price applies, which is 20 % less.",
    ),
)
PAYMENT = {
    "type": "object",
    "properties": {"invoice": {"type": "string"}, "amount": {"type": "number"}},
    "required": ["invoice"],
}
OLDER, NEWER = "answer-v3", "answer-v4"
# Where the older answer is the better one; else the newer is.
OLDER_IS_BETTER = frozenset({"Explain the refund in two sentences.", "Answer: can I export my orders to Excel?"})


def arrange(project: Project, *, people: list[User], admin: Actor) -> None:
    """All of it, as the demo's reviewers and whoever loads it would have done it."""
    actors = [Actor(user=user) for user in people]
    create_queue(
        project,
        QueueInput.model_validate({"name": "Replies", "rule": {"agent": "support-writer"}, "goal_minutes": 240}),
        actor=admin,
    )
    save_view(
        project,
        ViewInput(name="Rejected, worst first", query="verdict=REJECT&sort=score", is_shared=True),
        actor=actors[0],
    )
    save_view(
        project,
        ViewInput(list=ListName.RUNS, name="Over budget", query="outcome=over_budget", is_shared=True),
        actor=actors[1],
    )
    tiles = (
        *(f"{FIGURE}{name}" for name in ("success_rate_with_reflection", "cost_usd_per_success", "queue_length")),
        *(f"{CHART}{name}" for name in ("success", "outcomes")),
    )
    keep_dashboard(project, DashboardInput(name="Every morning", tiles=tiles, is_shared=True), actor=actors[0])
    change_guidelines(project, GuidelinesInput(text=GUIDELINES, note="After the first month"), actor=admin)
    _compare(project, actors=actors, admin=admin)
    propose_a_payment(project, admin=admin)


def propose_a_payment(project: Project, *, admin: Actor) -> None:
    """Start a run whose model wants to pay what was only to be checked: it waits for a reviewer."""
    # There is no such server: nothing is paid even if the call is allowed.
    Tool.objects.create(
        project=project,
        name="pay_invoice",
        kind=ToolKind.HTTP,
        description="Pays an invoice by bank transfer.",
        parameters=PAYMENT,
        config={"method": "POST", "url": "https://billing.invalid/payments", "headers": {}},
        created_by=admin.user,
    )
    task = {
        "objective": "Check the invoice 77 for mistakes.",
        "mode": "planning",
        "kind": "invoices",
        "agent": "invoice-checker",
        "tools": ["pay_invoice"],
        "completeness": {"when": "off"},
        "limits": {"token_budget": 100_000, "max_iterations": 1},
    }
    run = submit_task(project, read_submission(task), actor=Actor(), models={"default": f"{PREFIX}demo-invoice"})
    advance_inside(run.pk)


def _compare(project: Project, *, actors: list[Actor], admin: Actor) -> None:
    """Two models with a prompt each, most pairs judged by both reviewers, and some left for a visitor."""
    compared = create_set(project, SetInput(name="Replies: v3 or v4", wanted=2), actor=admin)
    pairs = [
        {
            "objective": objective,
            "a": {"answer": older, "model": "openai/gpt-5-mini", "prompt": OLDER},
            "b": {"answer": newer, "model": "anthropic/claude-haiku-4-5", "prompt": NEWER},
        }
        for objective, older, newer in PAIRS
    ]
    # As a pipeline's, so that everybody may judge them.
    hand_in_pairs(compared, PairsInput.model_validate({"pairs": pairs}), actor=Actor())
    for actor, many in zip(actors, (len(PAIRS) - 1, len(PAIRS) - 3), strict=False):
        for _ in range(many):
            seat = claim_next(project, actor=actor, set_id=compared.pk)
            if seat is None or seat.lease_token is None:
                break
            newer_is_left = seat.left == "b"
            is_newer_better = seat.pair.objective not in OLDER_IS_BETTER
            choice = Preference.LEFT if newer_is_left is is_newer_better else Preference.RIGHT
            judge_pair(seat, JudgementInput(lease_token=seat.lease_token, choice=choice), actor=actor)
