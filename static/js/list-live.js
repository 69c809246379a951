// Draws parts of a page afresh when something has changed: those with [data-live-part], by their ids, from the page's
// own address. A part that somebody is in, by focus, selection or an open menu, is left until they are not.
const QUIET_MS = 2000;
let drawnAt = 0;
let waiting = null;

const isInUse = (part) => {
  const selection = getSelection();
  const isSelected = selection && !selection.isCollapsed && part.contains(selection.anchorNode);
  return part.contains(document.activeElement) || isSelected || part.matches(".htmx-request");
};

async function draw() {
  waiting = null;
  const parts = [...document.querySelectorAll("[data-live-part]")].filter((part) => !isInUse(part));
  if (!parts.length || document.hidden) return;
  drawnAt = Date.now();
  try {
    const answer = await fetch(location.href, { headers: { "X-Requested-With": "fetch" } });
    if (!answer.ok || answer.redirected) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const part of parts) {
      const fresh = page.getElementById(part.id);
      // Of a list that was filtered meanwhile, the answer is about another one.
      if (!fresh || !part.isConnected || isInUse(part) || fresh.isEqualNode(part)) continue;
      part.replaceWith(fresh);
      globalThis.htmx?.process(fresh);
    }
  } catch {
    // The desk is away; the bell rings again when it is back.
    drawnAt = 0;
  }
}

document.body.addEventListener("desk:rang", () => {
  waiting ??= setTimeout(draw, Math.max(0, drawnAt + QUIET_MS - Date.now()));
});
