"""The permissions of the matrix in the words of the page that shows it, and of the written table."""

from collections.abc import Mapping
from types import MappingProxyType

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from reflection_app.core.permissions import Permission

PERMISSIONS: Mapping[Permission, Promise] = MappingProxyType(
    {
        Permission.READ: _("read tasks, runs, sessions, tickets, reports, tools and settings"),
        Permission.CONNECT: _("speak MCP at all; each tool needs what the same call over REST needs"),
        Permission.READ_QUEUE: _("read reviews, questions and comments"),
        Permission.READ_METRICS: _("read metrics, calibration and how far reviewers agree"),
        Permission.READ_NOTEBOOK: _("read entries of the notebook, their versions and conflicts"),
        Permission.READ_LIFT: _("read what lessons do"),
        Permission.RECALL: _("be told lessons and rules, and take the notebook along"),
        Permission.READ_AUDIT: _("read who did what"),
        Permission.HAND_IN: _("hand in tasks, attempts, sessions and failures; cancel and fork runs"),
        Permission.ASK_FOR_REVIEW: _("ask for a review"),
        Permission.REVIEW: _("decide reviews and instructions, answer questions, comment, order a redo"),
        Permission.PROPOSE_ENTRIES: _("propose entries to the notebook, and tell how it went with lessons"),
        Permission.CURATE: _("decide on entries, edit and merge them, settle conflicts"),
        Permission.IMPORT_ENTRIES: _("bring entries in from files"),
        Permission.IMPORT_JUDGEMENTS: _("bring judgements in that were made elsewhere"),
        Permission.UNDO_OTHERS: _("take back what others decided, began or said"),
        Permission.CHANGE_TOOLS: _("add, change, try and delete tools and their secrets"),
        Permission.CHANGE_SETTINGS: _("change limits, the review policy and how the project learns"),
        Permission.MANAGE_MEMBERS: _("invite and remove members, and change their roles"),
        Permission.MANAGE_KEYS: _("make and revoke API keys"),
        Permission.MANAGE_WEBHOOKS: _("add, change and test webhooks"),
        Permission.EXPORT_PROJECT: _("take the whole project along"),
        Permission.DELETE_DATA: _("decide how long things are kept, and delete the project"),
    }
)
