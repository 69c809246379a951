// The inbox without new pages: decisions are sent by the forms' own addresses, and the answer brings the next entry.
// Selection and the place in the list outlast what others do meanwhile.
(() => {
  const STEP = { j: 1, ArrowRight: 1, k: -1, ArrowLeft: -1 };
  const ANSWERED = [400, 409];
  let selected = new Set();
  let place = 0;
  let busy = false;

  const list = () => document.getElementById("inbox-list");
  const rows = () => [...(list()?.querySelectorAll("[data-row]") ?? [])];
  const boxes = () => [...(list()?.querySelectorAll("input[name=entry]") ?? [])];
  const chosen = () => reviewItem.current()?.dataset.entry ?? "";
  const isPlain = (event) => !(event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || event.isComposing);

  // The list says which entry is beside it, and x selects that one.
  function mark() {
    rows().forEach((row, at) => {
      const isChosen = row.dataset.row === chosen();
      if (isChosen) place = at;
      row.querySelector(".row-link").toggleAttribute("aria-current", isChosen);
      if (isChosen) row.querySelector(".row-link").setAttribute("aria-current", "true");
      const box = row.querySelector("input[name=entry]");
      if (box && isChosen) box.dataset.key = "x";
      else if (box) delete box.dataset.key;
      if (isChosen) row.scrollIntoView({ block: "nearest" });
    });
  }

  function count() {
    const all = boxes();
    const some = all.filter((box) => box.checked).length;
    const every = document.querySelector("[data-select-all]");
    const button = document.querySelector("[data-shift-key]");
    if (!every || !button) return;
    every.hidden = all.length < 2;
    every.querySelector("input").checked = some > 0 && some === all.length;
    every.querySelector("input").indeterminate = some > 0 && some < all.length;
    button.disabled = some === 0;
    for (const more of document.querySelectorAll("[data-needs-some]")) {
      more.inert = some === 0;
      if (!some) more.open = false;
    }
    button.querySelector("span").textContent = some ? button.dataset.some.replace("%d", some) : button.dataset.none;
    // While entries are selected, the keys are for them and not for the entry that happens to be shown.
    const reason = document.getElementById("bulk-reason");
    for (const [control, key] of [[button, "a"], [reason, "r"]]) {
      if (some) control.dataset.key = key;
      else delete control.dataset.key;
    }
    reason.toggleAttribute("data-key-goes", some > 0);
  }

  function step(by) {
    const all = rows();
    if (!all.length) return;
    const at = all.findIndex((row) => row.dataset.row === chosen());
    const to = at < 0 ? Math.min(place, all.length - 1) : at + by;
    const target = all[to];
    if (target) target.querySelector(".row-link").click();
    else if (by > 0) [...list().querySelectorAll(".pager a")].at(-1)?.focus();
  }

  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || deskKeys.isComposing(event) || deskKeys.isOpen()) return;
    const form = event.target.closest?.("[data-curation], [data-edit]");
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && form) {
      event.preventDefault();
      if (reviewItem.isOnScreen(event)) form.requestSubmit(form.querySelector("button"));
      return;
    }
    if (deskKeys.isTyping(event.target)) return;
    if (event.key === "A" && event.shiftKey && !event.ctrlKey && !event.metaKey && !event.altKey && !event.repeat) {
      const button = document.querySelector("[data-shift-key=A]:not(:disabled)");
      if (!button || busy) return;
      event.preventDefault();
      if (deskKeys.mayPress()) button.click();
      return;
    }
    if (!STEP[event.key] || !isPlain(event)) return;
    event.preventDefault();
    if (deskKeys.mayPress()) step(STEP[event.key]);
  });

  // Forms that work by themselves are sent by htmx here, so that the list and the scroll stay where they are.
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!form.matches("[data-curation], [data-undo], [data-bulk]") || event.defaultPrevented) return;
    event.preventDefault();
    if (busy) return;
    busy = true;
    reviewItem.leave();
    form.setAttribute("aria-busy", "true");
    const values = Object.fromEntries(new FormData(form, event.submitter));
    const entries = new FormData(form).getAll("entry");
    if (entries.length) values.entry = entries;
    htmx.ajax("POST", form.getAttribute("action"), { source: form, values, target: "#inbox-item", swap: "outerHTML" })
      .finally(() => {
        busy = false;
        form.removeAttribute("aria-busy");
      });
  });

  document.addEventListener("htmx:beforeRequest", (event) => {
    if (event.detail.target?.id === "inbox-item" || event.detail.target?.id === "entry-body") reviewItem.leave();
  });
  document.addEventListener("htmx:beforeSwap", (event) => {
    const target = event.detail.target;
    if (target?.id === "inbox-item" && ANSWERED.includes(event.detail.xhr.status)) {
      event.detail.shouldSwap = true;
      event.detail.isError = false;
    }
    selected = new Set(boxes().filter((box) => box.checked).map((box) => box.value));
  });
  // Whatever was answered, the keys come back with what is on the screen then.
  document.addEventListener("htmx:afterRequest", (event) => {
    // The bar stays when its entries go, and its reason was for them.
    if (event.detail.successful && event.detail.elt?.matches?.("[data-bulk]")) event.detail.elt.elements.reason.value = "";
    if (event.detail.target?.id === "inbox-item" && !event.detail.successful) complain(event.detail.xhr?.status ?? 0);
  });
  // Not once it has settled: until then the next answer may have come, or somebody selected another entry.
  document.addEventListener("htmx:afterSwap", () => {
    for (const box of boxes()) box.checked = selected.has(box.value);
  });
  document.addEventListener("htmx:afterSettle", (event) => {
    mark();
    count();
    const target = event.detail.target?.id ?? event.target.id;
    if (target === "entry-body") document.querySelector("#entry-body input:not([type=hidden])")?.focus();
    if (["inbox-item", "entry-body", "notebook-said"].includes(target)) settle(target);
  });

  function settle(target) {
    const item = reviewItem.current();
    if (target === "inbox-item") {
      const told = item?.querySelector(".alert[role=alert]") ?? item?.querySelector("#item-title");
      const reason = item?.querySelector(".entry-action[open] input[data-key-goes]");
      // A field of the entry before would keep the focus, and take the next key as a letter.
      if (told) told.tabIndex = -1;
      (reason ?? told ?? document.getElementById("main"))?.focus({ preventScroll: true });
      document.querySelector(".inbox-pane")?.scrollTo(0, 0);
    }
    reviewItem.settle();
  }

  function complain(status) {
    if (ANSWERED.includes(status)) return;
    const said = document.getElementById("notebook-said");
    const words = document.createElement("p");
    words.className = "toast toast-warning";
    words.textContent = document.querySelector(".inbox").dataset.notSent;
    said.replaceChildren(words);
    reviewItem.settle();
  }

  document.addEventListener("change", (event) => {
    if (event.target.matches(".queue-filters select")) event.target.form.requestSubmit();
    if (event.target.closest("[data-select-all]")) {
      for (const box of boxes()) box.checked = event.target.checked;
    }
    if (event.target.closest("[data-select-all]") || event.target.matches("input[name=entry]")) count();
  });
  addEventListener("popstate", () => location.reload());
  addEventListener("DOMContentLoaded", () => {
    mark();
    count();
  });
})();
