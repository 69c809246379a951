// Reviewing by keyboard. A key presses the control that carries it ([data-key]), so it can do nothing the page cannot.
const help = document.querySelector("[data-help]");
const opener = document.querySelector("[data-help-open]");
const form = document.querySelector("[data-decision]");

// Keys wait until the item has been painted: a key meant for the last item must not decide this one.
let shown = false;
requestAnimationFrame(() => requestAnimationFrame(() => {
  shown = true;
  document.body.dataset.keys = "ready";
}));

if (help && opener) {
  opener.hidden = false;
  opener.addEventListener("click", () => help.showModal());
}

const isTyping = (element) => element.closest("textarea, select, [contenteditable], input:not([type=radio], [type=checkbox])");

function press(control) {
  // What decides at once is only gone to: Enter presses it.
  if ("keyGoes" in control.dataset) return control.focus();
  if (control.type !== "radio") return control.click();
  control.checked = true;
  control.dispatchEvent(new Event("change", { bubbles: true }));
  control.focus();
  // To overrule is to give a verdict: go on there.
  if (control.value === "overrule") form.querySelector("[name=verdict]").focus();
  if (control.name === "verdict") form.querySelector("[name=decision][value=overrule]").checked = true;
}

document.addEventListener("keydown", (event) => {
  if (!shown || event.repeat || event.isComposing) return;
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    const submit = form?.querySelector("[data-submit]");
    if (submit && form.querySelector("[name=decision]:checked")) submit.click();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || help?.open) return;
  if (event.key === "?" && help) return help.showModal();
  const control = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
  if (control) {
    event.preventDefault();
    press(control);
  }
});
