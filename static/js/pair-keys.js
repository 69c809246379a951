// Comparing by keyboard. A key presses the button that carries it ([data-key], several with spaces between), so it can do
// nothing the page cannot. A key that was pressed before this pair was on the screen was meant for another one.
(() => {
  let paintedAt = Infinity;
  let isSent = false;

  // To the sides, what is wider than its frame scrolls.
  function isScrolled(element) {
    for (let frame = element; frame && frame !== document.body; frame = frame.parentElement) {
      if (frame.scrollWidth > frame.clientWidth && getComputedStyle(frame).overflowX !== "visible") return true;
    }
    return false;
  }

  function settle() {
    isSent = false;
    for (const form of document.querySelectorAll("[data-pair]")) form.removeAttribute("aria-busy");
    requestAnimationFrame(() => requestAnimationFrame(() => {
      paintedAt = performance.now();
      document.body.dataset.keys = "ready";
    }));
  }

  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.repeat || deskKeys.isComposing(event) || event.timeStamp < paintedAt) return;
    if (deskKeys.isOpen()) return;
    if (deskKeys.isTyping(event.target)) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    // The buttons show capitals, which are what a key gives with Caps Lock; with Shift it is typed.
    if (event.ctrlKey || event.metaKey || event.altKey || (event.shiftKey && /^\p{L}$/u.test(event.key))) return;
    if (event.key.startsWith("Arrow") && isScrolled(event.target)) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const control = document.querySelector(`[data-key~="${CSS.escape(key)}"]`);
    if (!control) return;
    event.preventDefault();
    if (deskKeys.mayPress(control)) control.click();
  });
  // Pressed twice, it is sent once.
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("[data-pair]")) return;
    if (isSent) return event.preventDefault();
    isSent = true;
    event.target.setAttribute("aria-busy", "true");
  });
  // Also where the browser brings the page back as it was left.
  addEventListener("pageshow", settle);
})();
