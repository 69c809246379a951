// A picture is shown as large as the window has room for. Without it the link opens the picture by itself.
(() => {
  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-enlarge]");
    if (!link || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const dialog = link.closest("section").querySelector("[data-enlarged]");
    if (!dialog) return;
    event.preventDefault();
    const shown = [...link.children].map((child) => child.cloneNode(true));
    const picture = shown.find((child) => child.matches("img"));
    picture.loading = "eager";
    picture.removeAttribute("width");
    picture.removeAttribute("height");
    dialog.setAttribute("aria-label", picture.alt);
    dialog.querySelector("[data-enlarged-picture]").replaceChildren(...shown);
    dialog.showModal();
  });
  document.addEventListener("click", (event) => {
    // On the backdrop, or on the picture while nothing is drawn on it.
    const dialog = event.target.closest("dialog[data-enlarged]");
    if (dialog?.open && !("marking" in dialog.dataset) && !event.target.closest("button")) dialog.close();
  });
})();
