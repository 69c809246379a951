"""A tiny model of a browser page that applies the messages of a socket as htmx does, for comparing pages."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"br", "hr", "img", "input", "use", "rect", "path"}


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    children: list["Element | str"] = field(default_factory=list)

    def find(self, place: str) -> tuple["Element", int] | None:
        """The parent of the element with this id, and its place among the children."""
        for index, child in enumerate(self.children):
            if isinstance(child, Element):
                if child.attributes.get("id") == place:
                    return self, index
                if found := child.find(place):
                    return found
        return None


class Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.root = Element("root", {})
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop().tag == tag

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.open[-1].children.append(data.strip())


def read(html: str) -> Element:
    reader = Reader()
    reader.feed(html)
    return reader.root


class Page:
    """A run's page before its socket has said anything."""

    def __init__(self) -> None:
        places = ("header run-header", "details run-graph", "div run-attempts", "div run-writing", "ol run-steps")
        tags = [place.split() for place in places]
        self.root = read("".join(f'<{tag} id="{place}"></{tag}>' for tag, place in tags))

    def apply(self, message: str) -> None:
        for element in read(message).children:
            assert isinstance(element, Element), element
            self._swap(element, element.attributes.pop("hx-swap-oob"))

    def _swap(self, element: Element, how: str) -> None:
        style, _, selector = how.partition(":")
        found = self.root.find(selector.removeprefix("#") or element.attributes["id"])
        assert found is not None, how
        parent, index = found
        target = parent.children[index]
        assert isinstance(target, Element)
        if style == "true":
            parent.children[index] = element
        elif style == "innerHTML":
            target.children = element.children
        else:
            assert style == "beforeend"
            target.children += element.children

    def ids_in(self, place: str) -> list[str]:
        found = self.root.find(place)
        assert found is not None
        holder = found[0].children[found[1]]
        assert isinstance(holder, Element)
        return [child.attributes["id"] for child in holder.children if isinstance(child, Element)]
