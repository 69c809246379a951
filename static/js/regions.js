// A box that is drawn on a picture becomes an issue about it. Without it the file and the part are chosen by hand.
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const LEAST = 0.5;
  const BOX = /^(?:xywh=percent:)?\s*([\d.]+)\s*,\s*([\d.]+)\s*,\s*([\d.]+)\s*,\s*([\d.]+)$/;
  let drawing = null;

  const issues = () => document.querySelector("[name=issue_region_file]")?.closest("[data-issue-rows]");
  const rounded = (number) => Number(number.toFixed(1));

  function rectangle(svg, [x, y, width, height]) {
    const { width: wide, height: high } = svg.viewBox.baseVal;
    const rect = document.createElementNS(SVG, "rect");
    rect.setAttribute("class", "box box-draft");
    for (const [name, value] of Object.entries({ x: x * wide, y: y * high, width: width * wide, height: height * high })) {
      rect.setAttribute(name, String(value / 100));
    }
    return rect;
  }

  // Boxes of the issues that are being written stand on their pictures at once.
  function paint() {
    const rows = [...(issues()?.querySelectorAll("[data-issue-row]") ?? [])];
    for (const svg of document.querySelectorAll("[data-enlarge] [data-boxes]")) {
      const about = rows.filter((row) => row.querySelector("[name=issue_region_file]").value === svg.dataset.boxes);
      const boxes = about.map((row) => BOX.exec(row.querySelector("[name=issue_region_part]").value.trim()));
      const drawn = boxes.filter(Boolean).map((box) => rectangle(svg, box.slice(1).map(Number)));
      svg.querySelector("[data-drafts]").replaceChildren(...drawn);
    }
  }

  function prepare() {
    for (const button of document.querySelectorAll("[data-mark-picture]")) button.hidden = !issues();
    paint();
  }

  function write(file, box) {
    issues().querySelector("[data-issue-add]").click();
    const row = document.activeElement.closest("[data-issue-row]");
    row.querySelector("[name=issue_region_file]").value = file;
    const part = row.querySelector("[name=issue_region_part]");
    part.value = `xywh=percent:${box.join(",")}`;
    for (const kind of ["input", "change"]) part.dispatchEvent(new Event(kind, { bubbles: true }));
  }

  function place(event) {
    const around = drawing.svg.getBoundingClientRect();
    const share = (at, from, length) => Math.min(100, Math.max(0, (100 * (at - from)) / length));
    return [share(event.clientX, around.left, around.width), share(event.clientY, around.top, around.height)];
  }

  function boxTo(event) {
    const [first, last] = [drawing.from, place(event)];
    const [x, y] = [0, 1].map((axis) => rounded(Math.min(first[axis], last[axis])));
    const [right, below] = [0, 1].map((axis) => rounded(Math.max(first[axis], last[axis])));
    return [x, y, rounded(right - x), rounded(below - y)];
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-mark-picture]");
    if (!button) return;
    button.closest("figure").querySelector("[data-enlarge]").click();
    const dialog = button.closest("section").querySelector("[data-enlarged]");
    if (!dialog.open) return;
    dialog.dataset.marking = button.dataset.markPicture;
    dialog.querySelector("[data-mark-hint]").hidden = false;
  });
  document.addEventListener("pointerdown", (event) => {
    const picture = event.target.closest("[data-marking] [data-enlarged-picture]");
    if (!picture || event.button) return;
    event.preventDefault();
    picture.setPointerCapture(event.pointerId);
    drawing = { dialog: picture.closest("dialog"), svg: picture.querySelector("[data-boxes]") };
    drawing.from = place(event);
  });
  document.addEventListener("pointermove", (event) => {
    drawing?.svg.querySelector("[data-drafts]").replaceChildren(rectangle(drawing.svg, boxTo(event)));
  });
  document.addEventListener("pointerup", (event) => {
    if (!drawing) return;
    const [box, { dialog, svg }] = [boxTo(event), drawing];
    drawing = null;
    svg.querySelector("[data-drafts]").replaceChildren();
    if (box[2] < LEAST || box[3] < LEAST) return;
    const file = dialog.dataset.marking;
    dialog.close();
    write(file, box);
  });
  document.addEventListener("pointercancel", () => { drawing = null; });
  // It does not bubble.
  document.addEventListener("close", (event) => {
    if (!event.target.matches("dialog[data-enlarged]")) return;
    delete event.target.dataset.marking;
    event.target.querySelector("[data-mark-hint]").hidden = true;
    drawing = null;
  }, true);
  for (const kind of ["input", "change"]) {
    document.addEventListener(kind, (event) => { if (event.target.closest?.("[data-issue-rows]")) paint(); });
  }
  document.addEventListener("review:shown", prepare);
  prepare();
})();
