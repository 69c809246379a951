// In the queue, two keys and the arrows go from row to row; Enter opens the one that has the focus.
(() => {
  const STEP = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 };
  let marked = null;

  const links = () => [...document.querySelectorAll("[data-queue-row] .row-link")];
  const isPlain = (event) => !(event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || event.isComposing);

  document.addEventListener("keydown", (event) => {
    const step = STEP[event.key];
    if (!step || event.defaultPrevented || !isPlain(event) || document.querySelector("dialog[open]")) return;
    if (event.target.closest?.("input, textarea, select, [contenteditable], [role=tablist]")) return;
    const all = links();
    if (!all.length) return;
    event.preventDefault();
    const row = document.activeElement?.closest("[data-queue-row]");
    const at = row ? all.findIndex((link) => row.contains(link)) : all.findIndex((link) => link.href === marked);
    const next = all[at < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + step, 0), all.length - 1)];
    marked = next.href;
    next.focus();
    next.closest("[data-queue-row]").scrollIntoView({ block: "nearest" });
  });

  // A live queue brings new rows; the row that had the focus keeps it.
  document.addEventListener("htmx:afterSwap", () => {
    if (!marked || document.activeElement !== document.body) return;
    links().find((link) => link.href === marked)?.focus({ preventScroll: true });
  });
  document.addEventListener("focusin", (event) => {
    marked = event.target.closest("[data-queue-row]") ? event.target.closest("[data-queue-row]").querySelector(".row-link").href : null;
  });
})();
