// Forms that fill a page: Ctrl+Enter saves, and who leaves with something typed and not saved is asked first.
const FORMS = "form.form[method=post]";
const OWN = ["csrfmiddlewaretoken"];
const first = new WeakMap();
let isSaving = false;

const typed = (form) => JSON.stringify([...new FormData(form)].filter(([name]) => !OWN.includes(name)));
const remember = () => { for (const form of document.querySelectorAll(FORMS)) first.set(form, typed(form)); };

// A form that was refused comes back with what was typed, which is not saved either.
const isRefused = (form) => Boolean(form.querySelector("[aria-invalid=true]"));
const isUnsaved = (form) => first.has(form) && (isRefused(form) || typed(form) !== first.get(form));

document.addEventListener("keydown", (event) => {
  const isMeant = event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.isComposing && event.keyCode !== 229;
  const form = event.target.closest?.(FORMS);
  if (!isMeant || !form || event.defaultPrevented || event.repeat) return;
  const button = form.querySelector(".button-primary:not([disabled])");
  if (!button) return;
  event.preventDefault();
  form.requestSubmit(button);
});
document.addEventListener("submit", (event) => {
  if (!event.defaultPrevented) isSaving = true;
});
addEventListener("beforeunload", (event) => {
  if (isSaving || ![...document.querySelectorAll(FORMS)].some(isUnsaved)) return;
  event.preventDefault();
});
// Back in the history, the page is as it was left.
addEventListener("pageshow", () => {
  isSaving = false;
  remember();
});
