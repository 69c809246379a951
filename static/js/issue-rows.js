// Issues are lines whose fields open; they are added, taken out and put back. Without it a few empty ones are there to fill in.
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
    for (const hidden of set.querySelectorAll("button[hidden]")) hidden.hidden = false;
    tell(set);
  }

  // Each line says what its fields hold. One that holds nothing and is not open is only there to be cloned.
  function tell(set) {
    for (const row of rowsOf(set)) {
      const held = (name) => row.querySelector(`[name=issue_${name}]`);
      const chosen = (name) => held(name).selectedOptions[0]?.text.trim() ?? "";
      const [description, fix] = [held("description").value.trim(), held("suggested_fix").value.trim()];
      const kind = row.querySelector("[data-issue-kind]");
      kind.className = `tag severity-${held("severity").value}`;
      kind.textContent = `${chosen("severity")} · ${chosen("category")}`;
      row.querySelector("[data-issue-says]").textContent = description;
      row.querySelector("[data-issue-fix]").textContent = fix && `— ${fix}`;
      row.querySelector("[data-issue-line]").hidden = !description && !fix;
      row.querySelector("[data-issue-new]").hidden = Boolean(description || fix);
      row.hidden = isEmpty(row) && !row.querySelector("details").open;
    }
  }

  function open(row) {
    row.hidden = false;
    row.querySelector("details").open = true;
    row.querySelector("[name=issue_description]").focus();
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

  // `told` is what a new row begins with, by the names of its fields.
  function addAndGo(set, told = {}) {
    const rows = rowsOf(set);
    const row = rows.length === 1 && isEmpty(rows[0]) ? rows[0] : add(set);
    for (const [name, value] of Object.entries(told)) row.querySelector(`[name=${name}]`).value = value;
    overrule(set);
    for (let details = set.closest("details"); details; details = details.parentElement.closest("details")) details.open = true;
    open(row);
    changed(set);
  }

  function takeOut(set, row) {
    const rows = rowsOf(set);
    removed.set(set, [...(removed.get(set) ?? []), { row: row.cloneNode(true), at: rows.indexOf(row), chosen: [...row.querySelectorAll("select")].map((select) => select.value) }]);
    if (rows.length > 1) row.remove();
    else {
      clear(row);
      row.querySelector("details").open = false;
    }
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
    open(last.row);
    changed(set);
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
  document.addEventListener("issue-rows:add", (event) => addAndGo(event.target, event.detail), true);
  document.addEventListener("issue-rows:count", (event) => {
    const set = event.target;
    while (rowsOf(set).length < event.detail) add(set);
    for (const row of rowsOf(set).slice(event.detail)) row.remove();
  }, true);
  for (const kind of ["input", "change"]) {
    document.addEventListener(kind, (event) => {
      for (const set of event.target.closest?.("form")?.querySelectorAll("[data-issue-rows]") ?? []) tell(set);
    });
  }
  document.addEventListener("change", (event) => {
    if (!event.target.matches("[name=decision]:checked")) return;
    const told = event.target.form.querySelector("[data-overruling]");
    if (told) told.textContent = "";
  });

  const prepareAll = () => document.querySelectorAll("[data-issue-rows]").forEach(prepare);
  document.addEventListener("review:shown", prepareAll);
  prepareAll();
})();
