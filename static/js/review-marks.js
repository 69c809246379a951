// A passage that is selected becomes an issue; the passages of the issues that are being written are marked in the text.
(() => {
  const MOST = 10000;
  const WORDS_SHOWN = 10000;
  const views = () => [...document.querySelectorAll("#review-item [data-marked]")];
  const offer = () => document.querySelector("[data-mark-offer]");

  // Where issues can be written: on a review that the reader holds.
  function rowsNow() {
    const form = document.querySelector("[data-decision]");
    const rows = form?.querySelector("[data-issue-rows]");
    if (!rows || form.dataset.hold === "lost" || form.closest("[inert]")) return null;
    return rows.querySelector("[name=issue_quote]")?.readOnly ? null : rows;
  }

  function selected() {
    const selection = getSelection();
    if (!selection?.rangeCount || selection.isCollapsed || !rowsNow()) return null;
    const range = selection.getRangeAt(0);
    const view = views().find((one) => range.intersectsNode(one));
    return view ? { range, view, selection } : null;
  }

  // Beside the end of what is selected, and within the screen.
  function place(box, range) {
    const rects = range.getClientRects();
    const end = rects[rects.length - 1] ?? range.getBoundingClientRect();
    const x = Math.max(8, Math.min(end.left, innerWidth - box.offsetWidth - 8));
    const below = end.bottom + 8;
    const y = below + box.offsetHeight > innerHeight ? Math.max(8, end.top - box.offsetHeight - 8) : below;
    box.style.setProperty("inset-inline-start", "auto");
    box.style.left = `${x}px`;
    box.style.top = `${Math.max(8, y)}px`;
  }

  function show() {
    const box = offer();
    if (!box) return;
    const found = selected();
    box.hidden = !found;
    if (!found) return;
    box.querySelector("[data-mark-too-long]").hidden = true;
    place(box, found.range);
  }

  function add() {
    const found = selected();
    const passage = found && textPlaces.read(found.range, found.view);
    if (!passage) return;
    if (passage.end - passage.start > MOST) {
      offer().querySelector("[data-mark-too-long]").hidden = false;
      return;
    }
    const { marked, attempt, step } = found.view.dataset;
    const words = (passage.exact ?? found.selection.toString()).replace(/\s+/g, " ").trim().slice(0, WORDS_SHOWN);
    const mark = { text: marked, ...passage, shown: words };
    if (step) mark.step = Number(step);
    else mark.attempt = Number(attempt);
    found.selection.removeAllRanges();
    offer().hidden = true;
    rowsNow().dispatchEvent(new CustomEvent("issue-rows:add", { detail: { issue_quote: words, issue_mark: JSON.stringify(mark) } }));
  }

  // Drawing the marks of the rows.

  function markIn(row) {
    const told = row.querySelector("[name=issue_mark]")?.value;
    if (!told || !row.querySelector("[name=issue_quote]").value.trim()) return null;
    try {
      return JSON.parse(told);
    } catch {
      return null;
    }
  }

  function undraw() {
    for (const drawn of document.querySelectorAll("[data-drawn]")) {
      if (drawn.matches("mark")) textPlaces.unwrap(drawn);
      else {
        const parent = drawn.parentNode;
        drawn.remove();
        parent.normalize();
      }
    }
  }

  function numberFor(row, index, id) {
    const number = document.createElement("a");
    Object.assign(number, { className: "passage-number", href: `#${row.id}`, textContent: String(index), id });
    number.dataset.apart = number.dataset.drawn = "";
    number.setAttribute("aria-label", row.querySelector("[name=issue_quote]").getAttribute("aria-label"));
    return number;
  }

  function makeMark() {
    const mark = document.createElement("mark");
    mark.className = "passage passage-drawn";
    mark.dataset.drawn = "";
    return mark;
  }

  function draw() {
    undraw();
    const rows = [...document.querySelectorAll("[data-decision] [data-issue-row]")];
    const kept = Math.max(0, ...[...document.querySelectorAll("#review-item .passage-number:not([data-drawn], [data-passage-of])")].map((one) => Number(one.textContent)));
    let count = kept;
    for (const [index, row] of rows.entries()) {
      row.id = `issue-row-${index + 1}`;
      const link = row.querySelector("[data-passage-of]");
      const mark = markIn(row);
      if (link) link.hidden = !mark;
      if (!mark || !link) continue;
      count += 1;
      link.textContent = String(count);
      const id = `passage-row-${index + 1}`;
      let isLed = false;
      for (const view of views()) {
        const isOf = view.dataset.marked === mark.text && (mark.text === "output" ? Number(view.dataset.step) === mark.step : !mark.attempt || Number(view.dataset.attempt) === mark.attempt);
        if (!isOf) continue;
        const [first] = textPlaces.wrap(view, mark, makeMark);
        if (!first) continue;
        first.before(numberFor(row, count, isLed ? "" : id));
        isLed = true;
      }
      link.href = `#${id}`;
    }
  }

  // Which row a number in the text leads to: its description is what is written next.
  function goToRow(event) {
    const number = event.target.closest?.("[data-drawn].passage-number");
    const row = number && document.getElementById(number.hash.slice(1));
    if (!row) return;
    event.preventDefault();
    for (let details = row.closest("details"); details; details = details.parentElement.closest("details")) details.open = true;
    row.querySelector("[name=issue_description]").focus();
  }

  let isAsked = false;
  document.addEventListener("selectionchange", () => {
    if (isAsked || !offer()) return;
    isAsked = true;
    requestAnimationFrame(() => { isAsked = false; show(); });
  });
  for (const kind of ["scroll", "resize"]) {
    addEventListener(kind, () => { if (offer()?.hidden === false) show(); }, { passive: true, capture: true });
  }
  // Pressing the button must not take away what is selected.
  document.addEventListener("pointerdown", (event) => { if (event.target.closest?.("[data-mark-offer]")) event.preventDefault(); });
  document.addEventListener("mousedown", (event) => { if (event.target.closest?.("[data-mark-offer]")) event.preventDefault(); });
  document.addEventListener("click", (event) => {
    if (event.target.closest?.("[data-mark]")) add();
    else goToRow(event);
  });
  document.addEventListener("input", (event) => {
    if (event.target.name !== "issue_quote") return;
    // Other words than were marked are looked for when they come in.
    event.target.closest("[data-issue-row]").querySelector("[name=issue_mark]").value = "";
    draw();
  });
  document.addEventListener("change", (event) => {
    if (event.target.closest?.("[data-decision]")?.querySelector("[data-issue-rows]") && event.target.matches("[data-issue-rows], [data-decision]")) draw();
  });
  document.addEventListener("review:shown", () => {
    const box = offer();
    if (box) box.hidden = true;
    draw();
  });
})();
