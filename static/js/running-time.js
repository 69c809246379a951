// Beside a step that runs, for how long: [data-started] holds when it began. Live updates bring new ones.
function elapsed(seconds) {
  if (seconds < 60) return `${seconds} s`;
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

function tick() {
  for (const place of document.querySelectorAll("[data-started]")) {
    const seconds = Math.round((Date.now() - Date.parse(place.dataset.started)) / 1000);
    place.textContent = seconds > 0 ? ` ${elapsed(seconds)}` : "";
  }
}

tick();
setInterval(tick, 1000);
