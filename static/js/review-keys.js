// Reviewing by keyboard. A key presses the control that carries it ([data-key], several with spaces between), so it can do
// nothing the page cannot. Which key that is, each person may choose.
(() => {
  // Up and down scroll what is being read; to the sides there is nothing to scroll.
  const ARROWS = ["ArrowLeft", "ArrowRight"];
  const TYPED = "textarea, select, [contenteditable], input:not([type=radio], [type=checkbox], [type=button])";

  const isTyping = (element) => Boolean(element?.closest?.(TYPED));
  const isOpen = () => Boolean(document.querySelector("dialog[open], :popover-open"));
  const isComposing = (event) => event.isComposing || event.keyCode === 229;
  const isOffered = (control) => !control.disabled && !control.closest("[hidden], dialog:not([open])");
  const isPressable = (control) => isOffered(control) && !control.closest("[inert]");

  // To the sides, a field, a row of tabs and what is wider than its frame have a use of their own for the arrows.
  function isScrolled(element) {
    if (element.closest("input, [role=tablist], [role=radiogroup], [role=toolbar]")) return true;
    for (let frame = element; frame && frame !== document.body; frame = frame.parentElement) {
      if (frame.scrollWidth > frame.clientWidth && getComputedStyle(frame).overflowX !== "visible") return true;
    }
    return false;
  }

  function openHelp(event) {
    const help = document.querySelector("[data-help]");
    if (!help) return;
    event.preventDefault();
    help.showModal();
  }

  function controlFor(key, within = document) {
    return [...within.querySelectorAll(`[data-key~="${CSS.escape(key)}"]`)].find(within === document ? isPressable : isOffered);
  }

  function reveal(control) {
    for (let details = control.closest("details"); details; details = details.parentElement.closest("details")) details.open = true;
    control.focus();
  }

  function press(control) {
    // What decides at once is only gone to: Enter presses it.
    if ("keyGoes" in control.dataset || control.matches(TYPED)) return reveal(control);
    if (control.type !== "radio") return control.click();
    choose(control);
  }

  function choose(radio) {
    const form = radio.form;
    if (radio.name === "verdict") form.querySelector("[name=decision][value=overrule]").checked = true;
    radio.checked = true;
    radio.dispatchEvent(new Event("change", { bubbles: true }));
    // To overrule is to give a verdict: go on there.
    const verdict = form.querySelector("[name=verdict]:checked") ?? form.querySelector("[name=verdict]");
    (radio.value === "overrule" ? verdict : radio).focus();
  }

  function submitWith(event) {
    const form = document.querySelector("[data-decision]");
    const submit = form?.querySelector("[data-submit]:not([disabled])");
    // Another form's field may have a use of its own for these keys.
    const other = event.target.closest?.("form");
    const isChosen = form?.querySelector("[name=decision]:checked") || form?.elements.editing?.checked;
    if (!submit || (other && other !== form) || !isChosen) return;
    event.preventDefault();
    submit.click();
  }

  // Keys for the item that is shown ahead wait, in sight, until it is the reader's; where another comes, none is pressed.
  let queue = { review: null, keys: [] };

  function tell(words) {
    const told = document.querySelector("[data-queued-keys]");
    if (!told) return;
    told.textContent = words;
    told.hidden = !words;
  }

  function enqueue(event) {
    const item = reviewItem.current();
    const isSubmit = event.key === "Enter";
    const key = event.key;
    if (event.altKey || (!isSubmit && (event.ctrlKey || event.metaKey))) return;
    if (!isSubmit && !controlFor(key, item)) return;
    event.preventDefault();
    if (queue.review !== item.dataset.review) queue = { review: item.dataset.review, keys: [] };
    queue.keys.push(key);
    tell(`${document.querySelector("[data-queued-keys]").dataset.queued} ${queue.keys.join(" ")}`);
  }

  function dequeue(item) {
    const { review, keys } = queue;
    queue = { review: null, keys: [] };
    if (!keys.length) return tell("");
    const refused = document.querySelector("[data-queued-keys]").dataset.refused;
    if (review !== item?.dataset.review || item.querySelector("[data-decision][data-hold=lost]")) return tell(`${refused} ${keys.join(" ")}`);
    tell("");
    for (const [place, key] of keys.entries()) {
      const form = document.querySelector("[data-decision]");
      const control = key === "Enter" ? document.activeElement : controlFor(key);
      const submit = form?.querySelector("[data-submit]:not([disabled])");
      // What Enter presses by itself: the button that has the focus, else the form whose choice has it.
      if (key === "Enter" && control?.matches("button, a[href]")) control.click();
      else if (key === "Enter" && submit && form.querySelector("[name=decision]:checked")) submit.click();
      else if (key !== "Enter" && control && !isTyping(document.activeElement)) press(control);
      else return tell(`${refused} ${keys.slice(place).join(" ")}`);
      if (reviewItem.current() !== item || document.querySelector("[data-decision][aria-busy]")) {
        const left = keys.slice(place + 1);
        return left.length ? tell(`${refused} ${left.join(" ")}`) : undefined;
      }
    }
  }

  document.addEventListener("review:ready", (event) => dequeue(event.detail.item));
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.repeat || isComposing(event) || isOpen()) return;
    if (reviewItem.isForPreview?.(event)) return enqueue(event);
    if (!reviewItem.isOnScreen(event)) {
      // Neither may the browser press what has the focus on an item that nobody has seen yet.
      if (event.key === "Enter" || (event.key === " " && !isTyping(event.target))) event.preventDefault();
      return;
    }
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) return submitWith(event);
    // With Shift, a sign such as ? or / is meant on some keyboards, a letter on none.
    if (event.ctrlKey || event.metaKey || event.altKey || (event.shiftKey && /^\p{L}$/u.test(event.key))) return;
    // With Shift, arrows select text.
    if (event.shiftKey && ARROWS.includes(event.key)) return;
    if (isTyping(event.target)) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (event.key === "?") return openHelp(event);
    if (ARROWS.includes(event.key) && isScrolled(event.target)) return;
    const control = controlFor(event.key);
    if (!control) return;
    event.preventDefault();
    press(control);
  });

  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-help-open]")) document.querySelector("[data-help]")?.showModal();
  });
  document.addEventListener("review:shown", () => {
    for (const opener of document.querySelectorAll("[data-help-open]")) opener.hidden = false;
  });
})();
