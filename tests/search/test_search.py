"""What is found by which words, and in which order, over REST and on the page."""
import pytest
from tests.factories import make_project, submit
from reflection_app.search.results import search, Kind
pytestmark = pytest.mark.django_db
def test_smoke():
    p = make_project()
    submit(p, objective="Parse the invoices of 航班搜索", external_id="ext-7")
    from reflection_app.search.models import SearchRow
    print(SearchRow.objects.values_list("kind","words"))
    for q in ["ext-7","EXT","invoice pars","航班","搜索","invoicing", "the", "%", "a' | 'b", "\\", "!&|()*:"]:
        g = search(p, q, may=lambda _: True)
        print(q, [(x.kind, x.total, x.is_counted, [(h.title, h.match) for h in x.hits]) for x in g])
