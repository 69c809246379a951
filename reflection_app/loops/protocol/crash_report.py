"""The ticket and the report of a run that a failed model call ends, in any loop. Code writes both without a model.

A call that a loop recovers from, and one whose attempt was sent back already, get none here.
"""

from reflection_app.loops.attempts import issue_ticket
from reflection_app.loops.effect import EffectFailed
from reflection_app.loops.progress import Progress
from reflection_app.loops.protocol.judging import broken_off
from reflection_app.loops.protocol.making import LONGEST_MESSAGE
from reflection_app.loops.protocol.reflecting import classify_error, explore, reflect
from reflection_app.loops.protocol.repair_plans import plan_repairs
from reflection_app.loops.protocol.reporting import analysed
from reflection_app.loops.protocol.rounds import BrokenBy, Interruption, Made, SentBack
from reflection_app.loops.task_spec import TaskSpec
from reflection_app.loops.tickets import Trigger


async def report_crash(spec: TaskSpec, run: Progress, failure: EffectFailed) -> None:
    """Record a ticket and a report of class 3.3.3 if `failure` is the failed model call that ends the run."""
    call = run.failed_call
    if call is None or call.failure is not failure:
        return
    number = call.attempt or max(run.attempts, default=0) or 1
    if number in run.tickets:
        return
    message = str(failure)[:LONGEST_MESSAGE] or "the call failed"
    broken = Interruption(BrokenBy.FAILED_CALL, call.key, message, call.last_good_step)
    made = Made(number, run.contents.get(number, ""), (), interruption=broken)
    judgement = broken_off(made.number, broken)
    ticket = await issue_ticket(spec, run, judgement, trigger=Trigger.INTERRUPTION)
    back = SentBack(made, judgement, ticket)
    explored = await explore(spec, run, back)
    reflected = await reflect(spec, run, back, explored)
    classified = await classify_error(spec, run, back, explored, reflected)
    planned = await plan_repairs(spec, run, back, reflected, classified)
    await analysed(spec, run, back, reflected=reflected, classified=classified, planned=planned)
