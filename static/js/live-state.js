// Says whether the page is live, and wakes a connection that sleeps. Reconnecting itself is htmx's.
const status = document.querySelector("[data-live-state]");
const AWAY_MS = 35000; // the server says something every 10 s, of a run every 4 s
const ANSWER_MS = 5000;
const ENDED = {
  1000: ["done", ""],
  4401: ["lost", "saysLoggedOut"],
  4403: ["lost", "saysNotAllowed"],
  4404: ["lost", "saysGone"],
};
let wrapper = null;
let socket = null;
let heard = 0;

// `name` is that of a data attribute: the page brings the words, in its reader's language.
function say(state, name) {
  const words = status?.dataset[name];
  if (!status || status.textContent === words) return;
  status.dataset.liveState = state;
  status.textContent = words;
}

function reconnect() {
  heard = Date.now();
  say("lost", "saysReconnecting");
  wrapper.reconnect();
}

if (status) {
  say("connecting", "saysConnecting");
  htmx.config.wsReconnectDelay = (tries) => Math.min(500 * 2 ** tries, 8000) * (0.5 + Math.random() / 2);

  document.addEventListener("htmx:wsOpen", (event) => {
    wrapper = event.detail.socketWrapper;
    socket = event.detail.event.target;
    heard = Date.now();
  });
  document.addEventListener("htmx:wsAfterMessage", () => {
    heard = Date.now();
    say("live", "saysLive");
  });
  document.addEventListener("htmx:wsClose", (event) => {
    const closed = event.detail.event;
    if (socket && closed.target !== socket && socket.readyState === WebSocket.OPEN) return;
    const ended = ENDED[closed.code];
    if (ended) {
      socket = null;
      if (ended[1]) say(...ended);
      else status.hidden = true;
      return;
    }
    say("lost", "saysReconnecting");
    // htmx reconnects after these by itself; a server that says goodbye politely comes back as well.
    if (![1006, 1011, 1012, 1013].includes(closed.code) && closed.target === socket) setTimeout(reconnect, 1000);
  });

  const isOpen = () => socket && socket.readyState === WebSocket.OPEN;
  document.addEventListener("visibilitychange", () => {
    if (document.hidden || !isOpen()) return;
    const asked = Date.now();
    wrapper.send("look");
    setTimeout(() => { if (isOpen() && heard < asked) reconnect(); }, ANSWER_MS);
  });
  setInterval(() => { if (isOpen() && Date.now() - heard > AWAY_MS) reconnect(); }, ANSWER_MS);
}
