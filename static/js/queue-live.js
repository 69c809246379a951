// The queue's rows are drawn afresh while somebody reads them: what was selected stays selected, and focus stays where
// it was, or goes to the row that took the place of one that has gone.
const BOXES = 'input[type="checkbox"][name="review"]';
let chosen = new Set();
let place = -1;
let focused = "";

const rows = () => document.getElementById("queue-rows");
const links = () => [...(rows()?.querySelectorAll(".row-link") ?? [])];

document.addEventListener("htmx:beforeSwap", (event) => {
  if (event.detail.target?.id !== "queue-rows") return;
  chosen = new Set([...document.querySelectorAll(`${BOXES}:checked`)].map((box) => box.value));
  const active = document.activeElement;
  const row = active?.closest("#queue-rows .row");
  focused = active?.id ?? "";
  place = row ? [...row.parentElement.children].indexOf(row) : -1;
});

// Not once it has settled: until then the next answer may have come, or somebody selected another row.
document.addEventListener("htmx:afterSwap", (event) => {
  if (event.detail.target?.id !== "queue-rows" && event.target.id !== "queue-rows") return;
  for (const box of document.querySelectorAll(BOXES)) box.checked = chosen.has(box.value);
  const kept = focused && document.getElementById(focused);
  if (kept) kept.focus({ preventScroll: true });
  else if (place >= 0) links().at(Math.min(place, links().length - 1))?.focus({ preventScroll: true });
  place = -1;
  focused = "";
  document.querySelector(BOXES)?.dispatchEvent(new Event("change", { bubbles: true }));
});
