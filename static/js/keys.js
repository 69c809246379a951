// The one rule of keys, for every page that has some: what is typed is never a command. While a field has the focus, keys
// are text; while a decision is begun, a key whose effect is outside of it does nothing and says so once. It is loaded
// before the page is drawn, so that a key pressed while a list still loads is kept.
globalThis.deskKeys = (() => {
  const TYPED = "textarea, select, [contenteditable], input:not([type=radio], [type=checkbox], [type=button], [type=submit])";
  const FIELDS = "main :is(textarea, select, input:not([type=hidden], [type=submit]))";
  // Filters and searches begin no decision. A selection in the notebook's inbox outlasts moving through it.
  const ASIDE = "form[method=get] *, [name=entry], [data-select-all] *, [data-bulk-all] *";
  const BEGUN = "main [data-issue-row] details[open], main [data-typed], main [data-chosen], main [data-begun]";
  const MOST_EARLY = 20;
  let early = [];
  let isSaid = false;

  const isTyping = (element) => Boolean(element?.closest?.(TYPED));
  const isOpen = () => Boolean(document.querySelector("dialog[open], :popover-open"));
  const isComposing = (event) => event.isComposing || event.keyCode === 229;

  function isTouched(field) {
    if (["radio", "checkbox"].includes(field.type)) return field.checked !== field.defaultChecked;
    if (!field.options) return field.value !== field.defaultValue;
    return field.selectedIndex !== Math.max(0, [...field.options].findLastIndex((option) => option.defaultSelected));
  }

  const touched = () => [...document.querySelectorAll(FIELDS)].filter((field) => !field.matches(ASIDE) && isTouched(field));
  const isBegun = () => Boolean(document.querySelector(BEGUN)) || touched().length > 0;

  // Whether pressing it leads away from what is begun, or changes something else.
  function isOutside(control) {
    const item = document.querySelector("#review-item, #inbox-item");
    if (!control || (item && !item.contains(control))) return true;
    if ("keyGoes" in control.dataset || !control.matches("a[href], button:not([type=button])")) return false;
    // What sends the very words that were typed is what they were typed for.
    return !control.form || control.hasAttribute("formaction") || !touched().some((field) => field.form === control.form);
  }

  // Whether a key may press `control`; without one, whether it may act outside of what is begun.
  function mayPress(control = null) {
    if (!isBegun()) {
      isSaid = false;
      return true;
    }
    if (!isOutside(control)) return true;
    const said = document.querySelector("[data-keys-said]");
    if (said && !isSaid) {
      said.hidden = false;
      said.textContent = said.dataset.keysSaid;
      isSaid = true;
    }
    return false;
  }

  function takeEarly() {
    const taken = early ?? [];
    early = null;
    return taken;
  }

  document.addEventListener("keydown", (event) => {
    if (early && early.length < MOST_EARLY) early.push(event);
  }, true);
  document.addEventListener("animationend", (event) => {
    if (event.target.matches("[data-keys-said]")) event.target.hidden = true;
  });
  document.addEventListener("review:shown", () => {
    const said = document.querySelector("[data-keys-said]");
    if (said) said.hidden = true;
    isSaid = false;
  });
  return { isTyping, isOpen, isComposing, isBegun, touched, mayPress, takeEarly };
})();
