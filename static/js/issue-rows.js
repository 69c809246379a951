// Adds and takes out rows of issues in a decision. Without it a few empty rows are there to fill in.
const rows = document.querySelector("[data-issue-rows]");
if (rows) {
  // The spare rows are there for pages without scripts.
  const isEmpty = (row) => [...row.querySelectorAll("input")].every((input) => !input.value);
  for (const row of [...rows.querySelectorAll("[data-issue-row]")].slice(1)) if (isEmpty(row)) row.remove();
  for (const hidden of rows.querySelectorAll("[hidden]")) hidden.hidden = false;
  rows.addEventListener("click", (event) => {
    const all = rows.querySelectorAll("[data-issue-row]");
    const last = all[all.length - 1];
    if (event.target.closest("[data-issue-add]")) {
      const row = last.cloneNode(true);
      for (const input of row.querySelectorAll("input")) input.value = "";
      for (const named of row.querySelectorAll("[aria-label]")) {
        named.setAttribute("aria-label", named.getAttribute("aria-label").replace(/\d+$/, String(all.length + 1)));
      }
      last.after(row);
      row.querySelector("[name=issue_description]").focus();
      return;
    }
    const row = event.target.closest("[data-issue-remove]")?.closest("[data-issue-row]");
    if (!row) return;
    if (all.length > 1) row.remove();
    else for (const input of row.querySelectorAll("input")) input.value = "";
    rows.querySelector("[data-issue-add]").focus();
  });
}
