// Messages leave or are put away. One that every page would bring again stays away as long as the tab is open.
(() => {
  const KEPT = "toasts-away";
  const away = () => (sessionStorage.getItem(KEPT) ?? "").split("\n");

  const remember = (key) => sessionStorage.setItem(KEPT, [...away().slice(-20), key].join("\n"));

  function putAway(toast) {
    const hadFocus = toast.contains(document.activeElement);
    if (toast.dataset.toast) remember(toast.dataset.toast);
    toast.remove();
    if (hadFocus) document.getElementById("main")?.focus({ preventScroll: true });
  }

  function look() {
    for (const toast of document.querySelectorAll("[data-toast]")) {
      if (toast.dataset.toast && away().includes(toast.dataset.toast)) toast.remove();
      else if (toast.matches(".toast-success, .toast-info") && !toast.querySelector("a, form")) toast.classList.add("toast-leaves");
    }
    // Of the last decision, only the short line stays once its message was shown.
    for (const last of document.querySelectorAll("[data-last]")) last.classList.toggle("is-short", away().includes(last.dataset.last));
  }

  document.addEventListener("click", (event) => {
    const toast = event.target.closest("[data-toast-close]")?.closest("[data-toast]");
    if (toast) putAway(toast);
  });
  document.addEventListener("animationend", (event) => {
    if (event.animationName === "toast-leaves" && event.target.matches("[data-toast]")) putAway(event.target);
    const last = event.animationName === "last-leaves" && event.target.closest("[data-last]");
    if (last) remember(last.dataset.last);
    if (last) last.classList.add("is-short");
  });
  document.addEventListener("review:shown", look);
  const region = document.querySelector(".toasts");
  if (!region) return;
  new MutationObserver(look).observe(region, { childList: true, subtree: true });
  look();
})();
