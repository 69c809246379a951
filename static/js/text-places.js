// Where in a raw text what is shown of it stands, and back. Its pieces carry [data-at], counted in Unicode code points,
// where the browser counts in UTF-16; a piece with [data-to] is written in another way than it stands there, and is one.
globalThis.textPlaces = (() => {
  function codePoints(text) {
    let count = 0;
    for (const _ of text) count += 1;
    return count;
  }

  // The UTF-16 offset of a code point.
  function offsetOf(text, places) {
    let offset = 0;
    for (let left = places; left > 0 && offset < text.length; left -= 1) offset += text.codePointAt(offset) > 0xffff ? 2 : 1;
    return offset;
  }

  // The text nodes of a view in their order, each with the place of its first character. Numbers of marks are no text.
  function* nodesOf(view) {
    const walker = document.createTreeWalker(view, NodeFilter.SHOW_TEXT);
    let piece = null;
    let at = 0;
    while (walker.nextNode()) {
      const node = walker.currentNode;
      const parent = node.parentElement;
      const own = parent.closest("[data-at]");
      if (!own || !view.contains(own) || parent.closest("[data-apart]")) continue;
      if (own !== piece) [piece, at] = [own, Number(own.dataset.at)];
      if ("to" in own.dataset) yield { node, whole: true, start: Number(own.dataset.at), end: Number(own.dataset.to) };
      else {
        const end = at + codePoints(node.data);
        yield { node, whole: false, start: at, end };
        at = end;
      }
    }
  }

  // What of the range lies in the view: { start, end, exact }, without white space around it. `exact` is null where the
  // view does not show the raw text as it is. Null where nothing of the range lies there.
  function read(range, view) {
    const parts = [];
    for (const one of nodesOf(view)) {
      if (!range.intersectsNode(one.node)) continue;
      if (one.whole) {
        parts.push({ ...one, text: null });
        continue;
      }
      const { data } = one.node;
      let from = one.node === range.startContainer ? range.startOffset : 0;
      let to = one.node === range.endContainer ? range.endOffset : data.length;
      // No half of a surrogate pair.
      if (/[\udc00-\udfff]/.test(data[from] ?? "") && /[\ud800-\udbff]/.test(data[from - 1] ?? "")) from -= 1;
      if (/[\udc00-\udfff]/.test(data[to] ?? "") && /[\ud800-\udbff]/.test(data[to - 1] ?? "")) to += 1;
      if (from >= to) continue;
      const start = one.start + codePoints(data.slice(0, from));
      const text = data.slice(from, to);
      parts.push({ start, end: start + codePoints(text), text });
    }
    while (parts.length && parts[0].text !== null) {
      const [first] = parts;
      const rest = first.text.trimStart();
      first.start += codePoints(first.text) - codePoints(rest);
      first.text = rest;
      if (rest) break;
      parts.shift();
    }
    while (parts.length && parts.at(-1).text !== null) {
      const last = parts.at(-1);
      const rest = last.text.trimEnd();
      last.end -= codePoints(last.text) - codePoints(rest);
      last.text = rest;
      if (rest) break;
      parts.pop();
    }
    if (!parts.length) return null;
    const isAsItIs = parts.every((part, index) => part.text !== null && (!index || parts[index - 1].end === part.start));
    return { start: parts[0].start, end: parts.at(-1).end, exact: isAsItIs ? parts.map((part) => part.text).join("") : null };
  }

  // Puts what the view shows of a passage into elements that `make` gives, and returns these.
  function wrap(view, { start, end }, make) {
    const found = [];
    for (const one of nodesOf(view)) {
      if (one.end <= start || one.start >= end) continue;
      const from = one.whole ? 0 : offsetOf(one.node.data, Math.max(0, start - one.start));
      const to = one.whole ? one.node.length : offsetOf(one.node.data, Math.min(one.end, end) - one.start);
      if (from < to) found.push({ node: one.node, from, to });
    }
    return found.map(({ node, from, to }) => {
      const range = document.createRange();
      range.setStart(node, from);
      range.setEnd(node, to);
      const element = make();
      range.surroundContents(element);
      return element;
    });
  }

  function unwrap(element) {
    const parent = element.parentNode;
    element.replaceWith(...element.childNodes);
    parent.normalize();
  }

  return { read, wrap, unwrap };
})();
