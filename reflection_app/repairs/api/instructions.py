"""Instructions for agents' system prompts: find them, and decide on them."""

from uuid import UUID

from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from reflection_app.api.access import get_instruction_for
from reflection_app.api.desk_view import DeskView
from reflection_app.api.idempotency import idempotent
from reflection_app.api.pages import NEWEST_FIRST, PageQuery, get_page
from reflection_app.api.permissions import needs
from reflection_app.api.reading import read_input, read_query
from reflection_app.api.schema import described_get, described_post
from reflection_app.core.permissions import Permission
from reflection_app.repairs.answers.report_answers import InstructionAnswer, InstructionPage, instruction_answer
from reflection_app.repairs.decide_instruction import InstructionInput, decide_instruction
from reflection_app.repairs.models.report import AgentInstruction, InstructionState


class InstructionFilters(PageQuery):
    agent: str | None = Field(default=None, max_length=120)
    state: InstructionState | None = None


class InstructionList(DeskView):
    permissions = needs(get=Permission.READ)

    @described_get(
        "list_instructions",
        summary="Instructions for agents' system prompts, newest first",
        query=InstructionFilters,
        answer=InstructionPage,
    )
    def get(self, request: Request) -> Response:
        query = read_query(request, InstructionFilters)
        wanted = query.model_dump(exclude_none=True, include={"agent", "state"})
        rows = AgentInstruction.objects.filter(project=self.project, **wanted).select_related("report")
        page = get_page(rows, request=request, query=query, order=NEWEST_FIRST)
        return Response(page.with_results([instruction_answer(row) for row in page.rows]))


class DecideInstruction(DeskView):
    permissions = needs(post=Permission.REVIEW)

    @described_post(
        "decide_instruction",
        summary="Accept an instruction into an agent's system prompt, decline it, or withdraw it",
        body=InstructionInput,
        answers={200: InstructionAnswer},
        problems=(404, 409),
        examples={
            "Accept": {"decision": "accept"},
            "Accept in other words": {"decision": "accept", "text": "Collect five papers before you stop."},
            "Withdraw what was accepted": {"decision": "withdraw"},
        },
    )
    @idempotent
    def post(self, request: Request, instruction_id: UUID) -> Response:
        told = read_input(request, InstructionInput, what="decision")
        decided = decide_instruction(get_instruction_for(self.project, instruction_id), told, actor=self.actor)
        return Response(instruction_answer(decided).model_dump(mode="json"))
