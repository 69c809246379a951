"""Check that a page is accessible and no wider than its window."""

import os
from collections.abc import Sequence
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

# A folder that keeps a picture of each page that is given a name.
PICTURES = os.environ.get("PICTURES", "")
SCRIPT = Axe().axe_script
# Playwright waits for a script's promise without a limit.
FIND = """rules => Promise.race([
    axe.run({resultTypes: ["violations"], ...rules}).then(found => found.violations.map(
        violation => `${violation.id}: ${violation.nodes.slice(0, 3).map(node => node.html).join(" | ")}`
    )),
    new Promise((_, fail) => setTimeout(() => fail(new Error("axe did not end in time")), 60_000)),
])"""
# Colors that are still on their way from one scheme to the other have no contrast of either.
SETTLE = """() => new Promise(shown => requestAnimationFrame(() => requestAnimationFrame(shown))).then(() => {
    for (const one of document.getAnimations()) if (one instanceof CSSTransition) one.finish();
})"""
# The rules that depend on the color scheme.
COLORS = ("color-contrast", "link-in-text-block")


def problems(page: Page, *, rules: Sequence[str] = ()) -> list[str]:
    """What axe finds by all of its rules or by these, each as the rule with the first elements that break it."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(SCRIPT)
    found: list[str] = page.evaluate(FIND, {"runOnly": list(rules)} if rules else {})
    return found


def is_clean(page: Page, name: str = "", *, widths: tuple[int, ...] = ()) -> None:
    """Nothing breaks a rule of access or is wider than the window: this one, or each of these `widths` in px."""
    for width in widths or (0,):
        if width:
            page.set_viewport_size({"width": width, "height": 900})
        if PICTURES and name:
            page.screenshot(path=Path(PICTURES) / f"{name}{f'-{width}' if width else ''}.png", full_page=True)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (page.url, width)
        found = problems(page)
        assert not found, (page.url, width, found)


def problems_of(page: Page) -> list[str]:
    """What axe finds in both color schemes, also in opened details, and whether the page is wider than a phone."""
    page.evaluate("document.querySelectorAll('details').forEach(details => { details.open = true; })")
    choice = page.locator("[value=overrule]")
    if choice.count():
        choice.check()
    found = problems(page)
    page.emulate_media(color_scheme="dark")
    page.evaluate(SETTLE)
    found += [f"dark: {problem}" for problem in problems(page, rules=COLORS)]
    page.emulate_media(color_scheme="light")
    size = page.viewport_size
    page.set_viewport_size({"width": 360, "height": 700})
    width = page.evaluate("document.documentElement.scrollWidth")
    if size is not None:
        page.set_viewport_size(size)
    return found + ([f"{width} px wide on a screen of 360"] if width > 360 else [])
