// Keeps the hold on an item while its page is in use, counts its last minute down, and says when it is lost.
//
// In use is a page in which somebody did something, or to which they came back, within one lease. A page that is left
// alone lets go at most two leases later, on whichever screen it stands open. What is left is counted from the
// server's seconds: the clock of this machine may be wrong.
(() => {
  const TICK_MS = 500;
  const LAST_S = 60;
  const SAY_S = [60, 15];
  const RETRY_MS = 5000;
  const LOOK_MS = 300;
  const USES = ["keydown", "pointerdown", "pointermove", "wheel", "touchstart", "input"];

  let lease = null;
  let usedAt = performance.now();
  let looking = 0;

  function take(form) {
    const now = performance.now();
    const leftS = Number(form.dataset.leftS);
    const wholeS = Number(form.dataset.leaseS);
    lease = { form, wholeS, endsAt: now + leftS * 1000, beatAt: now - (wholeS - leftS) * 1000, unsaid: SAY_S.filter((mark) => mark < leftS) };
  }

  const isUsed = (now) => now - usedAt <= lease.wholeS * 1000;
  const clock = (seconds) => `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;

  function show(leftS) {
    const isLast = leftS <= Math.min(LAST_S, lease.wholeS / 2);
    const part = (name) => lease.form.querySelector(`[data-lease-${name}]`);
    part("words").hidden = isLast;
    part("last").hidden = !isLast;
    part("keep").hidden = !isLast;
    part("timer").textContent = clock(Math.max(0, Math.ceil(leftS)));
    const mark = lease.unsaid.find((seconds) => leftS <= seconds);
    if (mark === undefined) return;
    lease.unsaid = lease.unsaid.filter((seconds) => seconds < leftS);
    part("said").textContent = part("said").getAttribute(`data-say-${mark}`);
  }

  // While a decision is under way the hold ends by that very decision: what a look would find is no news.
  const isDeciding = () => Boolean(reviewItem.current()?.inert || document.querySelector("[data-decision][aria-busy]"));

  function tick() {
    // What is shown before it is held has no hold to count down; the one before it may come back.
    if (isDeciding()) return;
    const form = document.querySelector("[data-lease=held]");
    if (!form) {
      if (!lease?.form.isConnected) lease = null;
      return;
    }
    if (lease?.form !== form) take(form);
    const now = performance.now();
    const isDue = now - lease.beatAt >= (lease.wholeS * 1000) / 3;
    if (isDue && isUsed(now) && !document.hidden) beat();
    else if (lease.endsAt <= now && isDue) beat({ only: "look" });
    show((lease.endsAt - now) / 1000);
  }

  async function beat({ only = "" } = {}) {
    const { form, wholeS } = lease;
    const asked = lease;
    // Asked again soon where no answer comes.
    asked.beatAt = performance.now() - Math.max(0, (wholeS * 1000) / 3 - RETRY_MS);
    const body = new URLSearchParams(new FormData(form));
    if (only) body.set(only, "1");
    try {
      const answer = await fetch(form.action, { method: "POST", body, headers: { "X-Review-Peeked": "none" } });
      if (!answer.ok || answer.redirected) return;
      const next = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("[data-lease]");
      if (!next || !form.isConnected || isDeciding()) return;
      const isFocused = form.contains(document.activeElement);
      form.replaceWith(next);
      if (next.dataset.lease === "lost") lose(next);
      else if (isFocused) document.querySelector("[data-decision] [name=reason]")?.focus();
    } catch {
      // The desk is away: the countdown goes on, and it is asked again.
      asked.beatAt = performance.now() - Math.max(0, (wholeS * 1000) / 3 - RETRY_MS);
    }
  }

  // What was typed stays to be read and copied, and goes along when the item is claimed again.
  function freeze(form) {
    form.dataset.hold = "lost";
    for (const control of form.elements) {
      if (control.matches("input:not([type=radio]), textarea")) control.readOnly = true;
      else if (!("claimAgain" in control.dataset) && !control.closest("[data-lost]") && control.type !== "fieldset") control.disabled = true;
    }
    for (const outside of document.querySelectorAll(`button[form="${CSS.escape(form.id || "-")}"]`)) outside.disabled = true;
  }

  function lose(told) {
    // Who holds it now may decide it or give it back: the next ring asks again.
    lease = { form: told, wholeS: 0, endsAt: Infinity, beatAt: Infinity, unsaid: [] };
    const form = document.querySelector("[data-decision]");
    if (!form) return;
    freeze(form);
    const lost = form.querySelector("[data-lost]");
    if (lost) {
      lost.hidden = false;
      const isClosed = "closed" in told.dataset;
      for (const part of lost.querySelectorAll("[data-lost-open]")) part.hidden = isClosed;
      for (const part of lost.querySelectorAll("[data-lost-closed]")) part.hidden = !isClosed;
    }
    // Fields that cannot be written cannot be discarded.
    const restored = document.querySelector("[data-draft-restored]");
    if (restored) restored.hidden = true;
  }

  document.addEventListener("submit", (event) => {
    if (event.target.dataset?.hold !== "lost") return;
    // What is switched off is not sent.
    for (const control of event.target.elements) control.disabled = false;
  }, true);
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-lease-keep]") && lease) beat();
  });
  document.body.addEventListener("desk:rang", () => {
    clearTimeout(looking);
    looking = setTimeout(() => { if (lease?.form.isConnected && !isDeciding()) beat({ only: "look" }); }, LOOK_MS);
  });
  const use = () => { usedAt = performance.now(); };
  for (const kind of USES) document.addEventListener(kind, use, { passive: true, capture: true });
  document.addEventListener("visibilitychange", () => { if (!document.hidden) { use(); tick(); } });
  document.addEventListener("review:shown", () => {
    use();
    tick();
    const form = document.querySelector("[data-decision][data-hold=lost]");
    if (form) freeze(form);
  });
  setInterval(tick, TICK_MS);
})();
