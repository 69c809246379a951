"""From an item to the one beside it, in the view of the queue that the reader came from."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from reflection_app.core.permissions import Permission
from reflection_app.reviews.views.queue_filter import carried
from reflection_app.reviews.views.queue_list import beside
from reflection_app.web.access import DeskRequest, get_review_for, project_page


@project_page(Permission.READ_QUEUE)
@require_safe
def beside_page(request: DeskRequest, review_id: UUID) -> HttpResponse:
    """To the next item, or back to the previous one; at the end of the view the item stays. Claims nothing."""
    review = get_review_for(request.place, review_id)
    is_back = request.GET.get("way") == "back"
    project, asked = request.place.project, carried(request)
    found = beside(project, asked.filter, review, actor=request.place.actor, is_back=is_back)
    if found is None:
        messages.info(request, _("This is the first of this view.") if is_back else _("This is the last of this view."))
    address = reverse("review", args=(project.slug, found or review.pk))
    return redirect(f"{address}?{asked.within}" if asked.within else address)
