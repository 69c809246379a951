// Comments: Ctrl+Enter sends, what was sent leaves the field, what was not stays in it, and members are offered after an @.
(() => {
  const fieldOf = (element) => element.closest?.("[data-comment-form]")?.querySelector("textarea");

  // Before the page's own keys hear of it: there it would decide the review.
  document.addEventListener("keydown", (event) => {
    const field = fieldOf(event.target);
    if (!field || event.target !== field) return;
    if (choosing(field) && chose(event, field)) {
      event.preventDefault();
      event.stopPropagation();
    } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      event.stopPropagation();
      field.form.requestSubmit();
    }
  }, true);

  document.addEventListener("htmx:beforeSwap", (event) => {
    const form = event.detail.requestConfig?.elt;
    if (!form?.matches("[data-comment-form]") || event.detail.xhr.status !== 400) return;
    event.detail.shouldSwap = true;
    event.detail.isError = false;
    event.detail.target = form.querySelector("#comment-problem");
    event.detail.swapOverride = "innerHTML";
  });

  document.addEventListener("htmx:afterRequest", (event) => {
    const form = event.detail.elt;
    if (!form?.matches?.("[data-comment-form]")) return;
    const problem = form.querySelector("#comment-problem");
    const status = event.detail.xhr.status;
    if (status === 200) {
      problem.textContent = "";
      form.reset();
      form.querySelector("textarea").value = "";
    } else if (status !== 400) {
      problem.textContent = form.dataset.notSent;
    }
  });

  // Members after an @: a list under the field, by arrow keys or pointer. Without it the names are typed.
  const MOST = 8;
  const partOf = (field) => field.value.slice(0, field.selectionStart).match(/(?:^|[^A-Za-z0-9_.@+-])@([\p{L}\p{N}_.@+-]*)$/u)?.[1];
  const listOf = (field) => field.form.querySelector("[data-mention-list]");
  const choosing = (field) => listOf(field) && !listOf(field).hidden;

  document.addEventListener("input", (event) => {
    const field = fieldOf(event.target);
    if (field && field === event.target && listOf(field)) offer(field);
  });

  document.addEventListener("focusout", (event) => {
    const field = fieldOf(event.target);
    if (field && field === event.target && listOf(field)) close(field);
  });

  // The field keeps the focus while the pointer chooses.
  document.addEventListener("mousedown", (event) => {
    const option = event.target.closest?.(".mention-option");
    if (!option) return;
    event.preventDefault();
    take(fieldOf(option), option.textContent);
  });

  function offer(field) {
    const part = partOf(field);
    const names = part === undefined ? [] : (field.dataset.mentions ?? "").split(" ")
      .filter((name) => name && name.toLowerCase().startsWith(part.toLowerCase()) && name !== part).slice(0, MOST);
    if (!names.length) return close(field);
    const list = listOf(field);
    list.replaceChildren(...names.map((name, index) => {
      const option = document.createElement("div");
      option.className = "mention-option";
      option.role = "option";
      option.id = `mention-${index}`;
      option.textContent = name;
      return option;
    }));
    list.hidden = false;
    field.setAttribute("aria-controls", list.id);
    mark(field, 0);
  }

  function mark(field, index) {
    const options = [...listOf(field).children];
    options.forEach((option, at) => option.setAttribute("aria-selected", String(at === index)));
    field.setAttribute("aria-activedescendant", options[index].id);
    options[index].scrollIntoView({ block: "nearest" });
  }

  function close(field) {
    listOf(field).hidden = true;
    field.removeAttribute("aria-activedescendant");
  }

  function chose(event, field) {
    const options = [...listOf(field).children];
    const at = options.findIndex((option) => option.getAttribute("aria-selected") === "true");
    if (event.key === "ArrowDown") mark(field, (at + 1) % options.length);
    else if (event.key === "ArrowUp") mark(field, (at + options.length - 1) % options.length);
    else if ((event.key === "Enter" && !event.ctrlKey && !event.metaKey) || event.key === "Tab") take(field, options[at].textContent);
    else if (event.key === "Escape") close(field);
    else return false;
    return true;
  }

  function take(field, name) {
    const end = field.selectionStart;
    field.setRangeText(`${name} `, end - partOf(field).length, end, "end");
    close(field);
  }
})();
