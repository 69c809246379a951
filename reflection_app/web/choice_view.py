"""How steps that choose show in a timeline: which attempt stands, which loop a task gets, and what led there."""

from reflection_app.loops.effects import ChooseLoop, RecordPick

CHOICES = {RecordPick.kind: "pick", ChooseLoop.kind: "route"}
CHOOSING_ROLES = {"tester": "write_tests", "classifier": "classify"}
