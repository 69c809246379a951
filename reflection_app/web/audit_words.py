"""What each action of the audit trail is called on pages."""

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

WORDS: dict[str, Promise] = {
    "api_key.created": _("made an API key"),
    "api_key.revoked": _("revoked an API key"),
    "attempt.handed_in": _("handed in an attempt"),
    "bulk.begun": _("began to decide many reviews together"),
    "bulk.done": _("decided many reviews together"),
    "bulk.undo_begun": _("began to take back a bulk decision"),
    "bulk.undone": _("took a bulk decision back"),
    "comment.added": _("commented"),
    "comment.changed": _("changed a comment"),
    "comment.deleted": _("deleted a comment"),
    "comment.edited": _("edited a comment"),
    "comment.taken_back": _("took a comment back"),
    "instruction.decided": _("decided about an instruction"),
    "panel.disputed": _("the opinions of several reviewers differ"),
    "panel.settled": _("the opinions of several reviewers were settled"),
    "policy.changed": _("changed the review policy"),
    "question.answered": _("answered a question"),
    "report.class_corrected": _("corrected the class of an error"),
    "review.asked_for": _("asked for a review"),
    "review.assigned": _("assigned a review"),
    "review.claimed": _("claimed a review"),
    "review.decided": _("decided a review"),
    "review.handed_over": _("handed a review over"),
    "review.opinion": _("gave a blind opinion"),
    "review.released": _("gave a review back to the queue"),
    "review.skipped": _("skipped a review"),
    "review.undone": _("took a decision back"),
    "review.unskipped": _("no longer skips a review"),
    "run.cancelled": _("cancelled a run"),
    "run.forked": _("forked a run"),
    "run.redone": _("ordered a run to be done again"),
    "secret.created": _("kept a secret"),
    "secret.deleted": _("deleted a secret"),
    "secret.replaced": _("replaced a secret"),
    "settings.changed": _("changed the settings"),
    "task.submitted": _("handed in a task"),
    "ticket.closed": _("closed a ticket"),
    "ticket.started": _("began with a ticket"),
    "tool.changed": _("changed a tool"),
    "tool.created": _("added a tool"),
    "tool.deleted": _("deleted a tool"),
    "tool.imported": _("imported a tool"),
    "tool.tried": _("tried a tool"),
    "tool_failure.outcome": _("told how a fix went"),
    "tool_failure.reported": _("reported a failed call"),
    "transcript.ended": _("ended a session"),
    "transcript.opened": _("opened a session"),
    "transcript.turns_added": _("added turns to a session"),
}
TARGETS: dict[str, Promise] = {
    "agentinstruction": _("instruction"),
    "apikey": _("API key"),
    "bulkdecision": _("bulk decision"),
    "comment": _("comment"),
    "panel": _("several reviewers' verdict"),
    "project": _("project"),
    "question": _("question"),
    "report": _("report"),
    "review": _("review"),
    "run": _("run"),
    "secret": _("secret"),
    "task": _("task"),
    "ticket": _("ticket"),
    "tool": _("tool"),
    "toolfailure": _("failed call"),
    "transcript": _("session"),
}


def words_of(action: str) -> str:
    """The action in words; its own name where it has none any more."""
    return str(WORDS.get(action, action))


def target_words(target: str) -> str:
    return str(TARGETS.get(target, target))
