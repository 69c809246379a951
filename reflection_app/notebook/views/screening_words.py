"""What screening found, in the words of the pages; the rules are those of notebook_app/screening.py."""

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

RULES: dict[str, str | Promise] = {
    "override": _("tells to drop instructions"),
    "new orders": _("gives new orders"),
    "persona": _("gives another role"),
    "prompt theft": _("asks for the system prompt"),
    "exfiltration": _("sends something away"),
    "secrecy": _("is to be kept from the user"),
    "judging": _("tells how to judge"),
    "order to agents": _("orders agents"),
    "role tag": _("marks of a chat template"),
    "script": _("script"),
    "hidden comment": _("hidden comment"),
    "link that tells": _("link that carries data away"),
    "hidden text": _("text that nobody sees"),
    "turned text": _("text that runs the other way"),
    "hidden characters": _("characters that nobody sees"),
    "look-alikes": _("letters that look like others"),
    "too long": _("too long to be screened"),
    "letters apart": _("letters that stand apart"),
    "steers the reader": _("reads like an order to the agent"),
}
# What the classifier is told beside the vector, by the names of notebook_app/steering_signs.py.
SIGNS: dict[str, str | Promise] = {
    "kept from people": _("something is to be kept from people"),
    "no check": _("a check or a question is to be left out"),
    "nobody looks": _("says that nobody looks"),
    "all accepted": _("all is to be accepted"),
    "top marks": _("speaks of top marks"),
    "whatever it is": _("whatever the thing is like"),
    "rules are void": _("rules are to hold no longer"),
    "only this counts": _("only this text is to count"),
    "speaks to the reader": _("speaks to whoever reads it"),
    "already settled": _("says that others have decided already"),
    "until then as usual": _("from a certain moment on"),
    "yes to the dialog": _("a confirmation is to be answered with yes"),
    "force in code": _("a call that asks nobody, or deletes"),
    "put at ease": _("says that it is harmless"),
    "sent away": _("something goes to an address"),
    "secrets told": _("secrets are to be told"),
    "prompt told": _("what the agent was told is to be shown"),
    "decode and do": _("is to be decoded and done"),
    "false front": _("tells what to say when asked"),
    "speaks as authority": _("speaks in the name of the system or an admin"),
    "markup": _("has marks of messages"),
    "plays a part": _("another part is to be played"),
    "copies itself": _("is to be copied further"),
    "a tale with a moral": _("a tale with a moral"),
    "asks for care": _("asks for care"),
    "tells what happened": _("tells what happened"),
    "speaks of attacks": _("speaks of attacks"),
}


def rule_words(rule: str) -> str:
    """What the rule is called, or its name where the pages know none."""
    return str(RULES.get(rule, rule.replace("_", " ")))


def sign_words(sign: str) -> str:
    """What the sign is called, or its name where the pages know none."""
    return str(SIGNS.get(sign, sign))
