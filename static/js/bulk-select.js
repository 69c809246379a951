// Selecting rows of the queue: counts them on the button, and selects all at once. Without it the boxes work as they are.
const BOXES = 'input[type="checkbox"][name="review"]';

const words = (button, count) => (count ? button.dataset.some.replace("%d", String(count)) : button.dataset.none);

function show() {
  const bar = document.querySelector("[data-bulk-bar]");
  if (!bar) return;
  const boxes = [...document.querySelectorAll(BOXES)];
  const chosen = boxes.filter((box) => box.checked).length;
  const all = bar.querySelector("[data-bulk-all]");
  const button = bar.querySelector("[data-bulk-go]");
  all.hidden = boxes.length < 2;
  const box = all.querySelector("input");
  box.checked = boxes.length > 0 && chosen === boxes.length;
  box.indeterminate = chosen > 0 && chosen < boxes.length;
  button.disabled = chosen === 0;
  button.querySelector("span").textContent = words(button, chosen);
}

document.addEventListener("change", (event) => {
  if (event.target.closest("[data-bulk-all]")) {
    for (const box of document.querySelectorAll(BOXES)) box.checked = event.target.checked;
  }
  if (event.target.closest("[data-bulk-all]") || event.target.matches(BOXES)) show();
});
document.addEventListener("htmx:afterSettle", show);
show();
