"""Labels of texts that are stored in English: states, kinds, sentences of the pure loops.

Other texts, such as those of people and models, are shown unchanged.
"""

import re

from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

LABELS = {
    # Roles of members, and of models.
    _("Viewer"), _("Reviewer"), _("Curator"), _("Admin"),
    _("Critic"),
    _("Actor"), _("Self"), _("Reflector"), _("Classifier"), _("Tester"), _("Planner"), _("Diagnoser"),
    _("Escalation"),
    # States of runs, steps, tickets, repairs, instructions and entries.
    _("Queued"), _("Running"), _("Waiting for review"), _("Waiting for the agent"), _("Waiting"), _("Finished"),
    _("Done"), _("Failed"), _("Abandoned"), _("Open"), _("In progress"), _("Resolved"), _("Superseded"), _("Closed"),
    _("pending"), _("completed"), _("written"), _("failed"), _("skipped"), _("proposed"), _("Proposed"), _("Accepted"),
    _("Declined"),
    # Issues, severities, efforts, kinds of tasks.
    _("completeness"), _("correctness"), _("format"), _("quality"), _("other"),
    _("low"), _("medium"), _("high"), _("critical"),
    _("code generation"), _("creative writing"), _("reasoning"),
    # Classes of errors.
    _("Model capability"), _("Decision error"), _("Pipeline crash"), _("Missing knowledge"), _("Normal iteration"),
    # Nodes and edges of a run's graph.
    _("Task"), _("Step"), _("Tool"), _("Tests"), _("Turns"), _("Plan"), _("Plan, revised"), _("Review"),
    _("Random check"), _("Question"), _("Completeness"), _("Loop chosen"), _("Classified"), _("Verdict"),
    _("Self-evaluation"), _("Critique"), _("Generated tests"), _("Check"), _("Minimum requirements"),
    _("Human verdict"), _("Reflection"), _("Classification"), _("Tests written"), _("Repair plan"),
    _("Diagnosis"), _("Completeness check"), _("Re-check"), _("Resumed"), _("Attempts exhausted"), _("Timed out"),
    _("Over-corrected"), _("Succeeded"), _("Unverified"), _("Over budget"), _("Rejected"), _("Cancelled"),
    _("submitted"), _("answered"), _("retried"), _("given up"), _("agreed"), _("overruled"), _("rejected"),
    _("not good enough"), _("edited"), _("pass"), _("revise"), _("reject"), _("complete"),
    _("incomplete"), _("unchecked"), _("validated"), _("reflected"), _("rewound"), _("fixed"), _("led to"),
    _("actor"), _("escalation"), _("no answer"), _("refused"), _("filtered"), _("called a tool"), _("cut off"),
    _("It sent nothing."), _("It refused without a word."), _("The provider's content filter stopped it."),
    _("It was cut off: the most tokens were reached before the answer's end."),
    _("The answer was cut off before its end."),
    _("actor critic"), _("external loop"), _("reflexion"), _("planning"), _("reflection protocol"),
    # The checklists of reports.
    _("The error analysis is concrete"), _("The repair actions are concrete steps"), _("There is a revised output"),
    _("The learning notes can be used again"), _("Meets the minimum requirements"),
    _("Fixes every issue of the ticket"), _("The format is right"), _("it says nothing"), _("none was named"),
    _("written by code, since the model gave no usable answer"), _("a normal iteration needs no repair"),
    _("there are none"), _("none was submitted yet"), _("the task has none"), _("it was not judged yet"),
    _("the ticket named none; the verdict decides"), _("all of them, by code"),
    _("all of them, against a lowered expectation"), _("Has a reflection_id"), _("Has a timestamp"),
    _("Names the agent"), _("Names the trigger"), _("Names the rewind ticket"),
    _("The classification has a valid code"), _("Has an anti-pattern"), _("Named as a new version"),
    _("it is empty"), _("the task names no agent"), _("the surface issue"), _("what happened"), _("the root cause"),
    _("compared by meaning"), _("compared by words"),
    # The questions that the class of an error follows from, and what answers them.
    _("Was the task completed?"), _("Was the pipeline interrupted?"), _("Is it the same mistake again?"),
    _("Did the agent say that it does not know?"), _("Yes"), _("No"), _("the run broke off"),
    _("the output is empty"), _("completed, but below the bar"), _("no such mistake before"), _("not completed"),
    _("no earlier mistake to compare it with"), _("there is no earlier report"), _("the run's earlier tickets"),
    _("score"),
    # Minimum requirements.
    _("schema"), _("data that fits the schema"), _("it fits"), _("it is there"), _("items"), _("item"),
    _("characters"), _("character"), _("words"), _("word"), _("lines"), _("line"),
    _("the list"), _("Bring the data into the form of the schema"), _("Fill in what is missing"),
    _("Bring the number to what is required"), _("Produce the file, whole and as it is required"),
    # Why a model's tests leave open which attempt to keep.
    _("All examples of the task hold, and the model's own tests do not speak against it."),
    _("Most tests that the model wrote pass."),
    _("Most tests that the model wrote fail; every rewrite gives the same answers or does worse."),
    _("Most tests that the model wrote fail, and there is no other answer to compare with."),
    _("No test that the model wrote can be used."),
    _("No attempt before it gave any answer at all; this one does."),
    _("Most tests that the model wrote fail, and the rewrite answers otherwise; which is right is open."),
    _("It fails an example that the task itself gives."), _("It gives no answer on any test."),
    # The issue of a redo.
    _("Reviewer requested a redo"),
    # Why a loop was chosen.
    _("Tests came with the task."),
    _("A schema of the answer came with the task."),
    _("Minimum requirements came with the task."),
    _("A call of a tool came with the task."),
    "Tools came with the task; its agent hands in calls.",
    _("Tools came with the task."),
    _("Running it shows whether it works."),
    _("Reasoning is checked by thinking it through again."),
    _("Nothing can check it and there is no critic, so the model judges itself."),
    _("A text is best judged by a critic."),
    _("Nothing can check it by running it, so a critic judges."),
}  # fmt: skip

NUMBER, PATH = r"[\d.,]+", r"\$\S*"
PARTS = "(?:the surface issue|what happened|the root cause)"
# What may stand in the place of what in the sentences below; else it is any text.
FIELDS = {
    **dict.fromkeys(("number", "all", "bar", "least", "most"), NUMBER),
    "code": r"\w*",
    "found": ".*",
    "kind": "Model capability|Decision error|Pipeline crash|Missing knowledge|Normal iteration|Bring the data into the "
    "form of the schema|Fill in what is missing|Bring the number to what is required|"
    "Produce the file, whole and as it is required",
    "report": r"(?: \(\w+\))?",
    "unit": "items?|characters?|words?|lines?",
    "what": "completeness|score",
    "where": ".+?",
    "why": "no such mistake before|no earlier mistake to compare it with",
}
# The same, of one sentence alone.
NARROWER = {
    "The %(said)s gave no answer in %(number)s tries.": {"said": r"\w+"},
    "agreed: %(said)s": {"said": r"\w+"},
    "overruled: %(said)s": {"said": r"\w+"},
    "%(said)s missing": {"said": f"{PARTS}(?:, {PARTS})*"},
    "%(first)s, %(said)s": {"first": PARTS, "said": f"{PARTS}.*"},
    "%(unit)s in %(place)s with %(said)s": {"place": ".+?", "said": ".+ = .+"},
    "%(number)s like it in %(where)s, such as “%(said)s”%(report)s": {"where": "[^,]+"},
    "%(place)s is empty": {"place": PATH},
    "%(place)s is missing": {"place": PATH},
}
# Sentences with fields. The text of a field is a label itself, or stays as it is.
SENTENCES = (
    _("Attempt %(number)s"),
    _("Repair step %(number)s"),
    _("The %(said)s gave no answer in %(number)s tries."),
    _("The %(who)s gave no answer in %(number)s tries. %(said)s"),
    _("It refused: %(said)s"),
    _("It called a tool in place of answering: %(said)s."),
    _("score %(number)s"),
    _("all %(number)s passed"),
    _("%(number)s passed"),
    _("all %(number)s requirements met"),
    _("%(number)s of %(all)s tests"),
    _("%(number)s of %(all)s test"),
    _("%(number)s of %(all)s requirements"),
    _("%(number)s issues"),
    _("agreed: %(said)s"),
    _("overruled: %(said)s"),
    _("failed: %(said)s"),
    _("not met: %(said)s"),
    _("still there (%(way)s): %(said)s"),
    _("%(said)s missing"),
    _("%(first)s, %(said)s"),
    _("%(number)s say nothing"),
    _("%(kind)s: %(said)s"),
    _("%(said)s; %(why)s"),
    _("all %(number)s minimum requirements are met"),
    _("%(number)s of %(all)s minimum requirements are not met: %(said)s"),
    _("something essential is missing: %(said)s"),
    _("its %(what)s is %(number)s, below %(bar)s"),
    _("its %(what)s is %(number)s, at or above %(bar)s, and nothing essential is missing"),
    "nothing alike in %(said)s",
    _("%(number)s earlier reports"),
    _("%(number)s like it in %(where)s, such as “%(said)s”%(report)s"),
    _("Minimum requirement not met: %(said)s. Found: %(found)s."),
    _("at least %(number)s %(said)s"),
    _("at most %(number)s %(said)s"),
    _("exactly %(number)s %(said)s"),
    _("%(least)s to %(most)s %(said)s"),
    _("%(unit)s in %(place)s with %(said)s"),
    _("%(unit)s in %(place)s"),
    _("%(place)s is there and not empty"),
    _("%(place)s may be missing"),
    _("%(place)s is empty"),
    _("%(code)s, decided by the tree over recorded facts, or by a person"),
    _("%(place)s is missing"),
    _("no data: %(said)s"),
    _("%(number)s of %(all)s examples of the task hold."),
    _("%(number)s of %(all)s tests that the model wrote pass."),
    _("It does not pass these tests, and nothing shows that they are wrong: %(said)s."),
    "%(number)s of %(all)s tests fail by themselves, whatever the code is, so they say nothing of it.",
    _("The rest passed: %(number)s."),
)

# Stored texts that are shown in other words. The stored ones stay: old rows have them.
RENAMED: dict[str, str] = {
    "Tools came with the task; its agent hands in calls.": _("Tools came with the task; its agent submits calls."),
    "nothing alike in %(said)s": _("nothing similar in %(said)s"),
    "%(number)s of %(all)s tests fail by themselves, whatever the code is, so they say nothing of it.": _(
        "%(number)s of %(all)s tests fail for any code, so they do not count."
    ),
    "For a day nothing has arrived.": _("Nothing was delivered for a day."),
    "The service says that there is nobody at this address any more.": _(
        "The service reports that this address no longer exists."
    ),
    "The worker was lost before the answer was noted: the message may have arrived.": _(
        "The worker stopped before the response was recorded. The message may have been delivered."
    ),
    "A second worker was lost the same way: the message may have arrived, and is given up.": _(
        "A second worker stopped the same way. The message may have been delivered and is not retried."
    ),
    "The service redirects; redirects are not followed.": _("The service sent a redirect. Redirects are not followed."),
    "The receiver answered 410 Gone.": _("The receiver returned 410 Gone."),
    "For 30 days it was paused.": _("It was paused for 30 days."),
    "It could not be made a session; the desk's log says why.": _("No session could be created; see the server log."),
    "Spans came after the session had ended; they are not in it.": _(
        "Spans that arrived after the session ended are not included."
    ),
    "It was too large to be read whole.": _("The trace was too large to be read completely."),
    "No session was made of it: its spans hold no messages.": _(
        "No session was created: the spans contain no messages."
    ),
}
LABELS |= {*RENAMED, *RENAMED.values()}


def _pattern_of(sentence: str) -> re.Pattern[str]:
    """Match what the English sentence says with its fields filled in."""
    fields = FIELDS | NARROWER.get(sentence, {})
    parts = re.split(r"%\((\w+)\)s", sentence)
    pieces = (f"(?P<{part}>{fields.get(part, '.+')})" if at % 2 else re.escape(part) for at, part in enumerate(parts))
    return re.compile("".join(pieces).replace("issues", "issues?").replace("reports", "reports?"), re.DOTALL)


PATTERNS = [(_pattern_of(sentence), sentence) for sentence in SENTENCES]


def in_words(text: object) -> str:
    """Return the label of a stored text in the reader's language, or the text itself if it has none."""
    stored = str(text)
    if stored in LABELS:
        return _label(stored)
    if len(stored) > 1000:
        return stored
    spaced = stored.replace("_", " ")
    if spaced != stored and spaced in LABELS and _label(spaced) != spaced:
        return _label(spaced)
    return next((label for label in (_filled(stored, *pattern) for pattern in PATTERNS) if label), stored)


def _label(stored: str) -> str:
    return gettext(RENAMED.get(stored, stored))


def _filled(stored: str, pattern: re.Pattern[str], sentence: str) -> str:
    found = pattern.fullmatch(stored)
    template = _label(sentence) if found else ""
    # Without another wording the stored text is shown to the letter.
    if found is None or template == sentence:
        return ""
    return template % {name: in_words(value) for name, value in found.groupdict().items()}
