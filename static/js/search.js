// One box over all of the project: the button, / outside of fields, or Ctrl-K opens it, and it shows what is found
// while one types. What has the choice is told by aria-activedescendant, so that the focus stays in the field.
(() => {
  const TYPED = "input:not([type=checkbox], [type=radio], [type=button]), textarea, select, [contenteditable]";
  const dialog = document.querySelector("[data-search]");
  if (!dialog) return;
  const field = dialog.querySelector("[role=combobox]");
  const box = dialog.querySelector("[role=listbox]");
  const said = dialog.querySelector("[data-search-said]");
  let before = null;

  const options = () => [...box.querySelectorAll("[role=option]")];
  const chosen = () => box.querySelector("[aria-selected=true]");
  const isComposing = (event) => event.isComposing || event.keyCode === 229;
  // Whether what is shown answers what stands in the field now.
  const isFresh = () => box.querySelector("[data-asked]")?.dataset.asked === field.value.trim();

  function open() {
    before = document.activeElement;
    dialog.showModal();
    field.focus();
    field.select();
  }

  function choose(option) {
    chosen()?.setAttribute("aria-selected", "false");
    option?.setAttribute("aria-selected", "true");
    if (option) field.setAttribute("aria-activedescendant", option.id);
    else field.removeAttribute("aria-activedescendant");
    option?.scrollIntoView({ block: "nearest" });
  }

  function step(by) {
    const all = options();
    if (!all.length) return;
    const at = all.indexOf(chosen());
    choose(all.at((at + by + all.length) % all.length));
  }

  function show() {
    const many = options().length;
    box.hidden = !many;
    field.setAttribute("aria-expanded", String(many > 0));
    said.textContent = many ? dialog.dataset.saysSome.replace("%d", many) : field.value.trim() ? dialog.dataset.saysNone : "";
    said.classList.toggle("visually-hidden", many > 0);
    choose(options()[0]);
  }

  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.repeat || isComposing(event)) return;
    const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey;
    const isShortcut = (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === "k";
    // Where a page has a search of its own at this key, it stays that.
    const isSlash = event.key === "/" && isPlain && !event.target.closest?.(TYPED) && !document.querySelector('[data-key="/"]');
    if (!isShortcut && !isSlash) return;
    if (isShortcut && dialog.open) {
      event.preventDefault();
      dialog.close();
      return;
    }
    if (document.querySelector("dialog[open], :popover-open")) return;
    event.preventDefault();
    if (isSlash && !deskKeys.mayPress()) return;
    const here = isSlash && document.querySelector("[data-search-here]");
    if (here) here.focus();
    else open();
  });

  field.addEventListener("keydown", (event) => {
    if (isComposing(event)) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      step(event.key === "ArrowDown" ? 1 : -1);
    } else if (event.key === "Enter" && chosen() && isFresh()) {
      // Else the form is sent, and the page answers what the dialog has not yet.
      event.preventDefault();
      chosen().click();
    }
  });

  box.addEventListener("htmx:afterSwap", show);
  for (const failure of ["htmx:responseError", "htmx:sendError"]) {
    dialog.addEventListener(failure, () => {
      box.replaceChildren();
      show();
      said.textContent = dialog.dataset.saysFailed;
    });
  }
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog || event.target.closest("[data-search-close], [role=option]")) dialog.close();
  });
  dialog.addEventListener("close", () => {
    if (before?.isConnected && before !== document.body) before.focus({ preventScroll: true });
    before = null;
  });
  // A page that comes back as it was left is not to come back with the dialog over it.
  addEventListener("pagehide", () => dialog.close());

  for (const form of document.querySelectorAll("[data-search-form]")) form.hidden = true;
  for (const opener of document.querySelectorAll("[data-search-open]")) {
    opener.hidden = false;
    opener.addEventListener("click", open);
  }
})();
