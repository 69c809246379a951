// Says `desk:rang` on the body when something in the project's reviews may have changed. The socket carries no data:
// whoever listens asks for what is new. Every ten seconds it rings by itself, so a lost ring or socket only delays news.
// A page with parts that are drawn afresh is rung for runs as well.
const address = document.body.dataset.bell && document.body.dataset.bell + (document.querySelector("[data-live-part]") ? "?runs" : "");
const AGAIN_MS = 10000;
const QUIET_MS = 1000; // of many changes, one ring a second
const REFUSED = [4401, 4403, 4404];
// While a decision is under way nothing else is asked: a person waits for its answer, and what it changes is told then.
const DECIDING = "#review-item[inert], [data-decision][aria-busy]";
let socket = null;
let tries = 0;
let rang = Date.now();
let asked = null;
let refused = false;

function ring() {
  asked = null;
  if (document.hidden || refused) return;
  if (document.querySelector(DECIDING)) {
    asked = setTimeout(ring, QUIET_MS);
    return;
  }
  rang = Date.now();
  document.body.dispatchEvent(new CustomEvent("desk:rang"));
}

function ringSoon() {
  if (asked === null) asked = setTimeout(ring, Math.max(0, rang + QUIET_MS - Date.now()));
}

function connect() {
  const url = new URL(address, window.location.href);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  socket = new WebSocket(url);
  socket.addEventListener("open", () => {
    tries = 0;
    document.body.dataset.bellState = "open";
  });
  socket.addEventListener("message", ringSoon);
  socket.addEventListener("close", (event) => {
    document.body.dataset.bellState = "closed";
    refused = REFUSED.includes(event.code);
    if (refused) return;
    tries += 1;
    setTimeout(connect, Math.min(500 * 2 ** tries, 8000) * (0.5 + Math.random() / 2));
  });
}

if (address) {
  connect();
  setInterval(() => {
    if (Date.now() - rang >= AGAIN_MS) ringSoon();
  }, 1000);
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) ringSoon();
  });
  // Whoever was logged out meanwhile is answered with the page to log in, which is no part of another page.
  document.addEventListener("htmx:beforeSwap", (event) => {
    const from = event.detail.xhr?.responseURL;
    if (from && new URL(from).pathname === "/login/") event.detail.shouldSwap = false;
  });
}
