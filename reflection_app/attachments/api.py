"""Attachments over REST: handed in ahead of the attempt that holds them, and read."""

from uuid import UUID

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.parsers import MultiPartParser

from reflection_app.api.actions import change, read
from reflection_app.api.problems import UnsupportedBody
from reflection_app.api.reading import media_type_of
from reflection_app.api.view import DeskView, get_row
from reflection_app.attachments.answers import AttachmentAnswer
from reflection_app.attachments.keeping import upload
from reflection_app.attachments.models import Attachment
from reflection_app.attachments.serving import respond_with
from reflection_app.core.errors import wrong
from reflection_app.core.permissions import Permission
from reflection_app.core.recognizing import INLINE, UNKNOWN

MULTIPART = "multipart/form-data"
FORM = {
    "type": "object",
    "properties": {"file": {"type": "string", "format": "binary", "description": "file to upload, with its name"}},
    "required": ["file"],
}


class Attachments(DeskView):
    parser_classes = (MultiPartParser,)

    def get_object(self, attachment_id: UUID) -> Attachment:
        return get_row(Attachment.objects.filter(project=self.project, pk=attachment_id), "attachment")

    @extend_schema(request={MULTIPART: FORM})
    @change(
        "upload_attachment",
        "Upload a file for an attempt",
        may=Permission.HAND_IN,
        status=201,
        once=False,
        location="attachments/{id}",
    )
    def create(self) -> AttachmentAnswer:
        """An attempt refers to the file by its ID. Identical content is stored once, under one ID. Files that no
        attempt uses are deleted after a day.
        """
        if media_type_of(self.request) != MULTIPART:
            raise UnsupportedBody(f"Send the file in a form, with the header Content-Type: {MULTIPART}.")
        files = self.request.FILES.getlist("file")
        if len(files) != 1 or len(self.request.FILES) != 1:
            raise wrong("file", "Send one file, in the field `file` of a multipart form.")
        file = files[0]
        return AttachmentAnswer.from_row(upload(self.project, file.read(), name=file.name or "", actor=self.actor))

    @read("get_attachment", "Get an attachment", may=Permission.READ)
    def retrieve(self, attachment: Attachment) -> AttachmentAnswer:
        return AttachmentAnswer.from_row(attachment)

    @read(
        "get_attachment_content",
        "Download an attachment or a byte range",
        may=Permission.READ,
        answer=OpenApiTypes.BINARY,
        media_type=UNKNOWN,
        also=tuple(INLINE),
    )
    def content(self, attachment: Attachment) -> HttpResponse:
        return respond_with(self.request, attachment)
