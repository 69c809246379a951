// Which entry of the inbox is on the screen: a key that was meant for another one does nothing (review-keys.js asks).
globalThis.reviewItem = (() => {
  // What moves in the list, searches or helps decides nothing.
  const HARMLESS = ["j", "k", "/", "?", "ArrowLeft", "ArrowRight", "Enter", " ", "Escape"];
  let painted = null;
  let paintedAt = Infinity;
  const current = () => document.getElementById("inbox-item");
  const stamp = (item) => (item ? `${item.dataset.entry} ${item.dataset.version}` : "");

  function leave() {
    painted = null;
    delete document.body.dataset.keys;
  }

  function settle() {
    const item = current();
    leave();
    if (item?.dataset.title) document.title = item.dataset.title;
    document.dispatchEvent(new CustomEvent("review:shown", { detail: { item } }));
    requestAnimationFrame(() => requestAnimationFrame(() => {
      if (current() !== item) return;
      painted = stamp(item);
      paintedAt = performance.now();
      document.body.dataset.keys = "ready";
      document.body.dataset.painted = item?.dataset.entry ?? "";
    }));
  }

  // An event that was made before the entry was on the screen was meant for another one, however late it comes.
  function isOnScreen(event) {
    if (HARMLESS.includes(event.key)) return true;
    const item = current();
    return Boolean(item?.checkVisibility()) && painted === stamp(item) && event.timeStamp >= paintedAt;
  }

  addEventListener("DOMContentLoaded", settle);
  return { current, settle, leave, isOnScreen };
})();
