// The editor of rules: filling in the last empty name opens another one, a rule that is
// open stays open when the page is brought anew, and answers to what is wrong are shown.
// Without it each press of a button brings the page anew, with one more empty name.
document.addEventListener("input", (event) => {
  const list = event.target.closest("[data-names]");
  const another = event.target.dataset.another;
  if (!list || !another || !event.target.value) return;
  const next = event.target.cloneNode();
  next.value = "";
  next.placeholder = another;
  delete event.target.dataset.another;
  event.target.after(next);
});
document.addEventListener("htmx:beforeSwap", (event) => {
  if (event.detail.target.matches?.("[data-policy-editor]") && event.detail.xhr.status === 400) {
    event.detail.shouldSwap = true;
    event.detail.isError = false;
  }
});
// A toggle is told to the element alone, on the way down to it.
document.addEventListener("toggle", (event) => {
  if (event.target.matches?.("[data-rule]")) event.target.parentElement.querySelector("[data-rule-open]").value = event.target.open ? "1" : "";
}, true);
