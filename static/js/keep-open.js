// Live updates replace elements; what the reader had opened or focused stays so. Elements are known by their ids.
const opened = new Map();
let focused = null;

document.addEventListener("htmx:wsBeforeMessage", () => {
  for (const details of document.querySelectorAll("[data-live] details[id]")) opened.set(details.id, details.open);
  const holder = document.activeElement?.closest("[data-live] [id]");
  // Within what is replaced, the same link or summary by its place.
  focused = holder && { id: holder.id, index: focusables(holder).indexOf(document.activeElement) };
});

document.addEventListener("htmx:wsAfterMessage", () => {
  for (const [id, open] of opened) {
    const details = document.getElementById(id);
    if (details && details.open !== open) details.open = open;
  }
  if (focused && document.activeElement === document.body) {
    const holder = document.getElementById(focused.id);
    if (holder) focusables(holder)[focused.index]?.focus({ preventScroll: true });
  }
});

function focusables(holder) {
  return [holder, ...holder.querySelectorAll("a, summary, button, [tabindex]")];
}
