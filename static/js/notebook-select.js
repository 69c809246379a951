// Selecting rows for one button: it counts them and says so. Without it the boxes and the button work as they are.
(() => {
  const boxes = () => [...document.querySelectorAll("[data-bulk] input[name=entry]")];

  function count() {
    const form = document.querySelector("[data-bulk]");
    const every = form?.querySelector("[data-select-all]");
    if (!every) return;
    const some = boxes().filter((box) => box.checked).length;
    every.hidden = boxes().length < 2;
    every.querySelector("input").checked = some > 0 && some === boxes().length;
    every.querySelector("input").indeterminate = some > 0 && some < boxes().length;
    for (const button of form.querySelectorAll("button[data-some]")) {
      button.disabled = some === 0;
      button.querySelector("span").textContent = some ? button.dataset.some.replace("%d", some) : button.dataset.none;
    }
  }

  document.addEventListener("change", (event) => {
    if (event.target.closest("[data-select-all]")) {
      for (const box of boxes()) box.checked = event.target.checked;
    }
    count();
  });
  addEventListener("DOMContentLoaded", count);
})();
