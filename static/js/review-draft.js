// A decision that is being typed survives a reload: this tab stores it until the decision is submitted.
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
    const isChoice = (control) => ["radio", "checkbox"].includes(control.type);
    for (const control of [...form.elements].filter(isChoice)) {
      control.checked = fields.some(([name, value]) => name === control.name && value === control.value);
    }
    const seen = {};
    for (const [name, value] of fields) {
      const index = (seen[name] = (seen[name] ?? -1) + 1);
      const control = [...form.elements].filter((one) => one.name === name && one.type !== "submit")[index];
      if (control && !isChoice(control)) control.value = value;
    }
    form.dispatchEvent(new Event("change", { bubbles: true }));
  }

  document.addEventListener("review:shown", () => {
    const form = formNow();
    const notice = form?.querySelector("[data-draft-restored]");
    if (!notice || form.dataset.hold === "lost") return;
    // A form that came back with an error holds what was typed last.
    if ("typed" in form.dataset) keep(form);
    const draft = kept(form);
    const original = typed(form);
    if (draft === null || draft === original) return;
    putBack(form, JSON.parse(draft));
    notice.hidden = false;
    notice.querySelector("[data-draft-discard]").onclick = () => {
      putBack(form, JSON.parse(original));
      forget(form);
      notice.hidden = true;
      form.querySelector("[name=reason]")?.focus();
    };
  });

  for (const kind of ["input", "change"]) {
    document.addEventListener(kind, (event) => {
      // The field in which the answer is edited stands outside of its form.
      const form = event.target.form?.matches("[data-decision]") ? event.target.form : event.target.closest?.("[data-decision]");
      if (form) keep(form);
    });
  }

  document.addEventListener("review:decided", (event) => forget(event.detail.form));
})();
