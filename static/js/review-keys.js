// Reviewing by keyboard. A key presses the control that carries it ([data-key], several with spaces between), so it can do
// nothing the page cannot.
(() => {
  // Up and down scroll what is being read; to the sides there is nothing to scroll.
  const ARROWS = ["ArrowLeft", "ArrowRight"];
  const { isTyping, isOpen, isComposing } = deskKeys;
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
    // What decides at once is only chosen: Enter presses it.
    if (control.matches("button[data-key-goes]") && control.form?.matches("[data-decision]")) return choose(control);
    if ("keyGoes" in control.dataset || isTyping(control)) return reveal(control);
    if (control.type === "radio") return choose(control);
    control.click();
  }

  // The words that follow a choice are its reason.
  function goToReason(form) {
    const reason = form.elements.reason;
    if (!reason) return;
    reveal(reason);
    form.dataset.enterDecides = "";
  }

  function choose(control) {
    const form = control.form;
    forget(form);
    form.dataset.begun = "";
    if (control.type !== "radio") {
      control.dataset.chosen = "";
      return goToReason(form);
    }
    if (control.name === "verdict") form.querySelector("[name=decision][value=overrule]").checked = true;
    control.checked = true;
    control.dispatchEvent(new Event("change", { bubbles: true }));
    control.focus();
    if (isFinal(control)) return goToReason(form);
    // To overrule is to rate, or to give a verdict: go on there.
    const next = form.querySelector("[data-criterion]:not(:has(:checked)) [type=radio]") ?? form.querySelector("[data-criterion] :checked");
    (next ?? form.querySelector("[name=verdict]:checked") ?? form.querySelector("[name=verdict]"))?.focus();
  }

  const isFinal = (radio) => radio.form?.matches("[data-decision]") && (radio.name === "verdict" || radio.value === "approve");

  function forget(form) {
    for (const button of document.querySelectorAll("[data-chosen]")) delete button.dataset.chosen;
    delete form?.dataset.enterDecides;
    delete form?.dataset.begun;
  }

  // A choice without a word is dropped; what was typed or rated is not.
  function dropChoice() {
    const chosen = deskKeys.touched();
    if (chosen.some((field) => field.type !== "radio" || field.closest("[data-criterion]"))) return;
    forget(document.querySelector("[data-begun]"));
    for (const radio of chosen) radio.checked = radio.defaultChecked;
    for (const radio of chosen) radio.dispatchEvent(new Event("change", { bubbles: true }));
    if (chosen.includes(document.activeElement)) document.activeElement.blur();
  }

  // In a criterion, a digit is a rating and never a verdict; the next criterion follows, then the reason.
  function rate(event) {
    const row = event.target.closest?.("[data-criterion]");
    if (!row || !/^[0-9]$/.test(event.key)) return false;
    event.preventDefault();
    const values = [...row.querySelectorAll("[type=radio]")];
    const isNumbered = values.some((radio) => /^[0-9]+$/.test(radio.value));
    const wanted = event.key === "0" ? "10" : event.key;
    const radio = isNumbered ? values.find((one) => one.value === wanted) : values[Number(wanted) - 1];
    if (!radio) return true;
    radio.checked = true;
    radio.dispatchEvent(new Event("change", { bubbles: true }));
    const rows = [...row.closest("[data-rate]").querySelectorAll("[data-criterion]")];
    const next = rows[rows.indexOf(row) + 1];
    if (next) (next.querySelector(":checked") ?? next.querySelector("[type=radio]")).focus();
    else goToReason(radio.form);
    return true;
  }

  const isSubmittable = (form) => form?.querySelector("[name=decision]:checked") || form?.elements.editing?.checked;
  const submitOf = (form) => document.querySelector("[data-chosen]") ?? (isSubmittable(form) && form.querySelector("[data-submit]:not([disabled])"));

  function submitWith(event) {
    const form = document.querySelector("[data-decision]");
    // Another form's field may have a use of its own for these keys.
    const other = event.target.form ?? event.target.closest?.("form");
    const submit = form && (!other || other === form) && submitOf(form);
    if (submit) {
      event.preventDefault();
      submit.click();
    } else if (form && (!other || other === form)) sayUnchosen(form, true);
  }

  function sayUnchosen(form, isUnchosen) {
    const told = form?.querySelector("[data-unchosen]");
    if (told) told.textContent = isUnchosen ? told.dataset.words : "";
  }

  // After a key that chose, Enter decides as long as no word of the reason is written; then it is a new line.
  const isEnterDeciding = (event) =>
    event.key === "Enter" && !event.shiftKey && event.target.name === "reason" && !event.target.value && event.target.form && "enterDecides" in event.target.form.dataset;

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
      const submit = submitOf(form);
      // What Enter presses by itself: the button that has the focus, else the form whose choice has it.
      if (key === "Enter" && control?.matches("button, a[href]")) control.click();
      else if (key === "Enter" && submit) submit.click();
      else if (key !== "Enter" && control && !isTyping(document.activeElement) && deskKeys.mayPress(control)) press(control);
      else return tell(`${refused} ${keys.slice(place).join(" ")}`);
      if (reviewItem.current() !== item || document.querySelector("[data-decision][aria-busy]")) {
        const left = keys.slice(place + 1);
        return left.length ? tell(`${refused} ${left.join(" ")}`) : undefined;
      }
    }
  }

  document.addEventListener("review:ready", (event) => {
    const early = deskKeys.takeEarly();
    if (event.detail.item) return dequeue(event.detail.item);
    // A list has nothing that a key could have been meant for before: what was pressed while it loaded holds.
    for (const pressed of early) if (!pressed.defaultPrevented && !isTyping(pressed.target)) act(pressed);
  });
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.repeat || isComposing(event) || isOpen()) return;
    if (reviewItem.isForPreview?.(event)) return enqueue(event);
    if (!reviewItem.isOnScreen(event)) {
      // Neither may the browser press what has the focus on an item that nobody has seen yet.
      if (event.key === "Enter" || (event.key === " " && !isTyping(event.target))) event.preventDefault();
      return;
    }
    act(event);
  });

  function act(event) {
    if ((event.key === "Enter" && (event.ctrlKey || event.metaKey)) || isEnterDeciding(event)) return submitWith(event);
    // With Shift, a sign such as ? or / is meant on some keyboards, a letter on none.
    if (event.ctrlKey || event.metaKey || event.altKey || (event.shiftKey && /^\p{L}$/u.test(event.key))) return;
    // With Shift, arrows select text.
    if (event.shiftKey && ARROWS.includes(event.key)) return;
    if (isTyping(event.target)) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (event.key === "?") return openHelp(event);
    if (event.key === "Escape") return dropChoice();
    if (rate(event)) return;
    if (ARROWS.includes(event.key) && isScrolled(event.target)) return;
    const control = controlFor(event.key);
    if (!control) return;
    event.preventDefault();
    if (deskKeys.mayPress(control)) press(control);
  }

  // Who chooses by mouse types the reason next as well. Arrows that go from choice to choice stay among them.
  let isPointed = false;
  document.addEventListener("pointerdown", (event) => { isPointed = event.pointerType === "mouse"; }, true);
  document.addEventListener("keydown", () => { isPointed = false; }, true);
  document.addEventListener("change", (event) => {
    if (event.target.name === "decision") sayUnchosen(event.target.form, false);
    if (isPointed && event.target.type === "radio" && isFinal(event.target)) goToReason(event.target.form);
  });
  document.addEventListener("focusout", (event) => {
    if (event.target.name === "reason") delete event.target.form?.dataset.enterDecides;
  });
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-help-open]")) document.querySelector("[data-help]")?.showModal();
  });
  document.addEventListener("review:shown", () => {
    for (const opener of document.querySelectorAll("[data-help-open]")) opener.hidden = false;
  });
})();
