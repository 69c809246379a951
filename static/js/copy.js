// Copies the text of the element that [data-copy] names, and says so on the button.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const source = document.getElementById(button.dataset.copy);
  try {
    await navigator.clipboard.writeText(source.textContent.trim());
    button.textContent = document.body.dataset.saysCopied;
  } catch {
    // Without the permission, or over plain HTTP: select it, so that Ctrl+C does it.
    getSelection().selectAllChildren(source);
    button.textContent = document.body.dataset.saysSelected;
  }
});
