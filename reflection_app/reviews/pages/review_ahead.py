"""Going on without a new page: an open page fetches the likely next item, and the answer to a decision claims it."""

from uuid import UUID

from django.http import HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.views.decorators.http import require_safe

from reflection_app.core.permissions import Permission
from reflection_app.reviews.claim_review import likely_next
from reflection_app.reviews.models.review import Review
from reflection_app.reviews.pages.next_review import NONE, address_of_next, claim_order, claimable, held_by, next_for
from reflection_app.reviews.pages.review_page import PEEKED, show, version_of, wants_item
from reflection_app.reviews.review_views import SortedFilter
from reflection_app.reviews.views.decision_form import prefilled
from reflection_app.reviews.views.queue_filter import carried
from reflection_app.runs.models import Run
from reflection_app.web.access import DeskRequest, get_review_for, project_page


@project_page(Permission.REVIEW)
@require_safe
def peek(request: DeskRequest) -> HttpResponse:
    """The item that likely comes after `besides`, as its holder will see it; 204 where none does. Claims nothing."""
    if not wants_item(request):
        return redirect("reviews", slug=request.place.project.slug)
    review = _likely(request, carried(request).filter)
    if review is None:
        return HttpResponse(status=204)
    return show(request, review, form=prefilled(review), is_ahead=True)


def go_on(request: DeskRequest) -> HttpResponse:
    """Claims the next and opens it; an open page is told what it needs to put the item into the place of its own."""
    review = next_for(request)
    address = address_of_next(request, review)
    if not wants_item(request):
        return redirect(address)
    if review is None:
        return JsonResponse({"review": None, "address": address})
    # A person waits for this answer: of what the page has fetched ahead, no more is read than whether it is the same.
    review.project, review.run = request.place.project, Run.objects.only("last_event_seq").get(pk=review.run_id)
    is_known = request.headers[PEEKED] == f"{review.pk} {version_of(review)}"
    lease = {"review": review, "token": review.lease_token}
    return JsonResponse(
        {
            "review": str(review.pk),
            "address": address,
            "lease_token": str(review.lease_token),
            "lease": render_to_string("reviews/_lease.html", lease, request),
            "item": None if is_known else _whole(request, review.pk),
            "said": render_to_string("_toasts.html", request=request),
        }
    )


def _whole(request: DeskRequest, review_id: UUID) -> str:
    review = get_review_for(request.place, review_id)
    return show(request, review, form=prefilled(review)).text


def _likely(request: DeskRequest, asked: SortedFilter) -> Review | None:
    """With all that its page shows."""
    besides = _besides(request)
    review = held_by(request, besides=besides) or likely_next(
        request.place.project,
        actor=request.place.actor,
        besides=besides,
        among=claimable(request, asked),
        order=claim_order(asked),
    )
    return get_review_for(request.place, review.pk) if review else None


def _besides(request: DeskRequest) -> UUID:
    try:
        return UUID(request.GET.get("besides", ""))
    except ValueError:
        return NONE
