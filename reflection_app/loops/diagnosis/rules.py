"""THE table of rules, in the order in which they are tried; the first that fits decides.

What our own callers know comes first, then limits and rights (which services put under many statuses), then statuses,
then texts from the narrow to the wide. Where none fits, nothing is said: a model is asked then. docs/tool-failures.md
tells how to read the table and where its rows come from.
"""

from reflection_app.loops.diagnosis import (
    rules_access,
    rules_data,
    rules_domain,
    rules_http,
    rules_network,
    rules_own,
    rules_parameters,
)
from reflection_app.loops.diagnosis.rule import Facts, Rule

RULES: tuple[Rule, ...] = (
    *rules_own.FIRST,
    *rules_access.RULES,
    *rules_http.RULES,
    *rules_parameters.TOOLS,
    *rules_data.REPOSITORIES,
    *rules_data.DATABASES,
    *rules_data.RESOURCES,
    *rules_data.FILES,
    rules_domain.STATE,
    *rules_parameters.RULES,
    *rules_network.RULES,
    *rules_parameters.CODE,
    *rules_domain.RULES,
    *rules_own.LAST,
    *rules_http.CLASSES,
)


def rule_for(facts: Facts) -> Rule | None:
    """The first rule that fits; None where none does."""
    return next((rule for rule in RULES if rule.fits(facts)), None)
