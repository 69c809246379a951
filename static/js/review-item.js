// Which item is on the screen, and how another takes its place. Other scripts hear of each by `review:shown`.
globalThis.reviewItem = (() => {
  let painted = null;
  let paintedAt = Infinity;
  let readAt = Infinity;
  const current = () => document.getElementById("review-item");
  const idOf = (item) => item?.dataset.review ?? "";

  // Keys wait until the item has been painted: a key meant for the last item must not decide this one.
  function settle({ isPainted = false } = {}) {
    const item = current();
    painted = null;
    delete document.body.dataset.keys;
    document.dispatchEvent(new CustomEvent("review:shown", { detail: { item } }));
    const openIt = () => { if (current() === item) open(item); };
    // Not at once: keys that wait are pressed then, and whoever brought the item in has not finished yet.
    if (isPainted) setTimeout(openIt);
    else requestAnimationFrame(() => requestAnimationFrame(openIt));
  }

  function open(item) {
    painted = idOf(item);
    paintedAt = performance.now();
    document.body.dataset.keys = "ready";
    document.body.dataset.painted = painted;
    document.dispatchEvent(new CustomEvent("review:ready", { detail: { item } }));
  }

  // To be read already, while it is not known yet whose it is: nothing in it can be pressed before `replace`.
  function preview(next) {
    painted = null;
    readAt = Infinity;
    delete document.body.dataset.keys;
    next.inert = true;
    current().replaceWith(next);
    scrollTo(0, 0);
    requestAnimationFrame(() => requestAnimationFrame(() => {
      if (current() !== next) return;
      readAt = performance.now();
      document.body.dataset.read = idOf(next);
    }));
  }

  function replace(next, { address } = {}) {
    next.inert = false;
    // Of what is read already only the hold is new; what came with the answer is another version of it.
    const isPainted = current() === next && document.body.dataset.read === idOf(next);
    if (current() !== next) current().replaceWith(next);
    globalThis.htmx?.process(next);
    if (next.dataset.title) document.title = next.dataset.title;
    if (address) history.pushState({ review: idOf(next) }, "", address);
    const told = next.querySelector(".alert[role=alert]:not([hidden])") ?? next.querySelector("h1");
    if (!told) return settle();
    told.tabIndex = -1;
    const isRead = document.body.dataset.read === idOf(next);
    delete document.body.dataset.read;
    told.focus({ preventScroll: true });
    if (!isRead) scrollTo(0, 0);
    settle({ isPainted });
    goToWrong(next);
  }

  // Where a decision was refused, the field that it is about is what comes next; the alert is read out as it is.
  function goToWrong(item) {
    const form = item.querySelector("[data-decision][data-wrong]");
    const fields = form ? [...form.elements].filter((one) => one.name === form.dataset.wrong && !one.readOnly) : [];
    const field = fields.find((one) => one.checked) ?? fields[0];
    for (let details = field?.closest("details"); details; details = details.parentElement.closest("details")) details.open = true;
    field?.focus();
  }

  // Whether there was a preview, which gives way to the item before it, with all that was typed into that.
  function putBack(item) {
    if (current() === item) return false;
    delete document.body.dataset.read;
    current().replaceWith(item);
    settle();
    return true;
  }

  function parse(html) {
    return new DOMParser().parseFromString(html, "text/html").getElementById("review-item");
  }

  // An event that was made before the item was on the screen was meant for another one, however late it comes.
  const isOnScreen = (event) => painted === idOf(current()) && event.timeStamp >= paintedAt;
  // It was made for the item that is shown ahead, which nobody holds yet.
  const isForPreview = (event) => Boolean(current()?.inert) && event.timeStamp >= readAt;

  addEventListener("popstate", () => {
    const item = current();
    // A jump within the page comes by here as well.
    if (item && !location.pathname.includes(item.dataset.review)) location.reload();
  });
  // Somebody else's claim or decision was brought in.
  document.addEventListener("htmx:load", (event) => {
    if (event.target.id !== "review-state") return;
    if (event.target.querySelector("[data-decision]")) location.reload();
    else settle();
  });
  addEventListener("DOMContentLoaded", settle);
  return { current, preview, replace, putBack, parse, isOnScreen, isForPreview };
})();
