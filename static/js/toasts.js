// Messages in the corner are put away. One that every page would bring again stays away as long as the tab is open.
(() => {
  const KEPT = "toasts-away";
  const away = () => (sessionStorage.getItem(KEPT) ?? "").split("\n");

  function putAway(toast) {
    const hadFocus = toast.contains(document.activeElement);
    if (toast.dataset.toast) sessionStorage.setItem(KEPT, [...away().slice(-20), toast.dataset.toast].join("\n"));
    toast.remove();
    if (hadFocus) document.getElementById("main")?.focus({ preventScroll: true });
  }

  function look() {
    for (const toast of document.querySelectorAll("[data-toast]")) {
      if (toast.dataset.toast && away().includes(toast.dataset.toast)) toast.remove();
      else if (toast.matches(".toast-success, .toast-info") && !toast.querySelector("a, form")) toast.classList.add("toast-leaves");
    }
  }

  document.addEventListener("click", (event) => {
    const toast = event.target.closest("[data-toast-close]")?.closest("[data-toast]");
    if (toast) putAway(toast);
  });
  document.addEventListener("animationend", (event) => {
    if (event.animationName === "toast-leaves") putAway(event.target);
  });
  const region = document.querySelector(".toasts");
  if (!region) return;
  new MutationObserver(look).observe(region, { childList: true, subtree: true });
  look();
})();
