// Editing the answer: the field is gone to as it opens, grows with its text, and is not left unsaved without a word.
(() => {
  const box = () => document.querySelector("[data-editing]");
  const field = () => document.querySelector("[data-edited-answer]");
  let isLeaving = false;

  // A text that was refused comes back with the page, and is not saved either.
  const isChanged = (text) => text.value !== text.defaultValue || text.ariaInvalid === "true";
  const isUnsaved = () => Boolean(box()?.checked && field() && isChanged(field()));

  document.addEventListener("change", (event) => {
    if (!event.target.matches("[data-editing]") || !event.target.checked) return;
    field().focus();
    field().setSelectionRange(0, 0);
    field().scrollTop = 0;
  });
  document.addEventListener("input", () => { isLeaving = false; });
  document.addEventListener("submit", () => { isLeaving = true; });
  document.addEventListener("review:decided", () => { isLeaving = true; });
  document.addEventListener("review:shown", () => { isLeaving = false; });
  addEventListener("beforeunload", (event) => {
    if (!isLeaving && isUnsaved()) event.preventDefault();
  });
})();
