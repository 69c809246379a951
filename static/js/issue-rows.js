// Issues are edited in place: rows are added, taken out and put back. Without it a few empty rows are there to fill in.
(() => {
  const removed = new WeakMap();
  const rowsOf = (set) => [...set.querySelectorAll("[data-issue-row]")];
  const fields = (row) => [...row.querySelectorAll("input")];
  const isEmpty = (row) => fields(row).every((input) => !input.value);

  function clear(row) {
    for (const field of [...fields(row), ...row.querySelectorAll("[name=issue_region_file]")]) field.value = "";
  }

  function prepare(set) {
    if (set.dataset.issueRows === "ready") return;
    set.dataset.issueRows = "ready";
    // The spare rows are there for pages without scripts.
    for (const row of rowsOf(set).slice(1)) if (isEmpty(row)) row.remove();
    for (const hidden of set.querySelectorAll("[hidden]")) hidden.hidden = false;
  }

  function number(set) {
    for (const [index, row] of rowsOf(set).entries()) {
      for (const named of row.querySelectorAll("[aria-label]")) {
        named.setAttribute("aria-label", named.getAttribute("aria-label").replace(/\d+/, String(index + 1)));
      }
    }
  }

  function add(set) {
    const last = rowsOf(set).at(-1);
    const row = last.cloneNode(true);
    clear(row);
    last.after(row);
    number(set);
    return row;
  }

  function changed(set) {
    const undo = set.querySelector("[data-issue-undo]");
    if (undo) undo.disabled = !removed.get(set)?.length;
    set.dispatchEvent(new Event("change", { bubbles: true }));
  }

  function addAndGo(set) {
    const rows = rowsOf(set);
    const row = rows.length === 1 && isEmpty(rows[0]) ? rows[0] : add(set);
    overrule(set);
    for (let details = set.closest("details"); details; details = details.parentElement.closest("details")) details.open = true;
    row.querySelector("[name=issue_description]").focus();
    changed(set);
  }

  function takeOut(set, row) {
    const rows = rowsOf(set);
    removed.set(set, [...(removed.get(set) ?? []), { row: row.cloneNode(true), at: rows.indexOf(row), chosen: [...row.querySelectorAll("select")].map((select) => select.value) }]);
    if (rows.length > 1) row.remove();
    else clear(row);
    number(set);
    changed(set);
    set.querySelector("[data-issue-add]").focus();
  }

  function putBack(set) {
    const last = removed.get(set)?.pop();
    if (!last) return;
    // A clone does not take along what was chosen.
    for (const [index, select] of last.row.querySelectorAll("select").entries()) select.value = last.chosen[index];
    const rows = rowsOf(set);
    if (rows.length === 1 && isEmpty(rows[0])) rows[0].replaceWith(last.row);
    else if (rows[last.at]) rows[last.at].before(last.row);
    else rows.at(-1).after(last.row);
    number(set);
    changed(set);
    last.row.querySelector("[name=issue_description]").focus();
  }

  // Who agrees with a verdict leaves its issues as they are: to change one is to overrule, and the page says so.
  function overrule(set) {
    const form = set.closest("[data-decision]");
    const choice = form?.querySelector("[name=decision][value=overrule]");
    if (!choice || choice.checked) return;
    choice.checked = true;
    const told = form.querySelector("[data-overruling]");
    if (told) told.textContent = told.dataset.words;
  }

  document.addEventListener("click", (event) => {
    const set = event.target.closest("[data-issue-rows]");
    if (!set) return;
    const out = event.target.closest("[data-issue-remove]");
    if (event.target.closest("[data-issue-add]")) addAndGo(set);
    else if (event.target.closest("[data-issue-undo]")) putBack(set);
    else if (out) takeOut(set, out.closest("[data-issue-row]"));
  });
  document.addEventListener("issue-rows:count", (event) => {
    const set = event.target;
    while (rowsOf(set).length < event.detail) add(set);
    for (const row of rowsOf(set).slice(event.detail)) row.remove();
  }, true);
  document.addEventListener("change", (event) => {
    if (!event.target.matches("[name=decision]:checked")) return;
    const told = event.target.form.querySelector("[data-overruling]");
    if (told) told.textContent = "";
  });

  const prepareAll = () => document.querySelectorAll("[data-issue-rows]").forEach(prepare);
  document.addEventListener("review:shown", prepareAll);
  prepareAll();
})();
