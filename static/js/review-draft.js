// What is typed into a decision outlives a reload: it is kept in this tab until the decision is in.
(() => {
  const OWN = ["csrfmiddlewaretoken", "lease_token", "pressed"];
  const formNow = () => document.querySelector("[data-decision]");
  const place = (form) => `review-draft:${form.dataset.draft}`;
  const typed = (form) => JSON.stringify([...new FormData(form)].filter(([name]) => !OWN.includes(name)));

  function keep(form) {
    try {
      sessionStorage.setItem(place(form), typed(form));
    } catch {
      // The tab's storage is full or switched off: the form itself still has everything.
      form.dataset.draftKept = "no";
    }
  }

  function kept(form) {
    try {
      return sessionStorage.getItem(place(form));
    } catch {
      return null;
    }
  }

  function forget(form) {
    try {
      sessionStorage.removeItem(place(form));
    } catch {
      form.dataset.draftKept = "no";
    }
  }

  function putBack(form, fields) {
    const rows = form.querySelector("[data-issue-rows]");
    const count = Math.max(1, fields.filter(([name]) => name === "issue_description").length);
    rows?.dispatchEvent(new CustomEvent("issue-rows:count", { detail: count }));
    const seen = {};
    for (const [name, value] of fields) {
      const index = (seen[name] = (seen[name] ?? -1) + 1);
      const controls = [...form.elements].filter((control) => control.name === name && control.type !== "submit");
      const choice = controls.find((control) => ["radio", "checkbox"].includes(control.type) && control.value === value);
      if (choice) choice.checked = true;
      else if (controls[index] && !["radio", "checkbox"].includes(controls[index].type)) controls[index].value = value;
    }
    form.dispatchEvent(new Event("change", { bubbles: true }));
  }

  document.addEventListener("review:shown", () => {
    const form = formNow();
    const offer = form?.querySelector("[data-draft-offer]");
    if (!offer || form.dataset.hold === "lost") return;
    // What came back with the page is what was typed last: the alert says so, and there is nothing else to offer.
    if ("typed" in form.dataset) keep(form);
    const draft = kept(form);
    offer.hidden = draft === null || draft === typed(form);
  });

  for (const kind of ["input", "change"]) {
    document.addEventListener(kind, (event) => {
      // The field in which the answer is edited stands outside of its form.
      const form = event.target.form?.matches("[data-decision]") ? event.target.form : event.target.closest?.("[data-decision]");
      // Until the reader has said what becomes of an older one, it is not written over by a mere choice.
      if (form && (kind === "input" || form.querySelector("[data-draft-offer]")?.hidden)) keep(form);
    });
  }

  document.addEventListener("click", (event) => {
    const form = event.target.closest("[data-decision]");
    if (!form) return;
    const offer = form.querySelector("[data-draft-offer]");
    if (event.target.closest("[data-draft-back]")) {
      const draft = kept(form);
      if (draft) putBack(form, JSON.parse(draft));
      offer.hidden = true;
      form.querySelector("[name=reason]")?.focus();
    }
    if (event.target.closest("[data-draft-away]")) {
      forget(form);
      offer.hidden = true;
      form.querySelector("[name=reason]")?.focus();
    }
  });
  document.addEventListener("review:decided", (event) => forget(event.detail.form));
})();
