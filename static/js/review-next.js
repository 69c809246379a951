// Decides without a new page: the answer claims the next item, which was fetched ahead while this one was read. It is
// shown as soon as the decision is sent, and comes to life when the answer says that it is the reader's.
(() => {
  const ANSWER_MS = 30000;
  const SOON_MS = 150;
  let ahead = null;
  let isSending = false;

  const headers = () => ({ "X-Review-Peeked": ahead ? `${ahead.dataset.review} ${ahead.dataset.version}` : "none" });

  async function look(item) {
    try {
      const answer = await fetch(item.dataset.peek, { headers: { "X-Review-Peeked": "none" } });
      if (answer.status !== 200 || answer.redirected || reviewItem.current() !== item) return;
      ahead = reviewItem.parse(await answer.text());
      document.body.dataset.ahead = ahead?.dataset.review ?? "";
    } catch {
      // Without it the next item comes with the answer, a little later.
      ahead = null;
    }
  }

  document.addEventListener("review:shown", (event) => {
    const item = event.detail.item;
    ahead = null;
    delete document.body.dataset.ahead;
    if (item?.dataset.peek) setTimeout(() => { if (reviewItem.current() === item) look(item); }, SOON_MS);
  });

  function say(html) {
    const said = document.querySelector("[data-toasts]");
    if (said) said.innerHTML = html;
  }

  // The item that was fetched ahead does not know of the decision that brought it here.
  function tellLast(item, html) {
    const line = item.querySelector("[data-last-line]");
    if (line) line.innerHTML = html;
  }

  function complain(form, which) {
    if (reviewItem.putBack(form.closest("#review-item"))) say("");
    const alert = form.querySelector("[data-away]");
    const words = alert.querySelector("[data-away-words]");
    words.textContent = words.dataset[which];
    alert.hidden = false;
    alert.focus();
  }

  function goOn(told) {
    if (!told.review) return location.assign(told.address);
    const item = told.item ? reviewItem.parse(told.item) : ahead;
    if (item?.dataset.review !== told.review) return location.assign(told.address);
    for (const token of item.querySelectorAll("input[name=lease_token]")) token.value = told.lease_token;
    const lease = item.querySelector("[data-lease]");
    if (lease) lease.outerHTML = told.lease;
    say(told.said);
    tellLast(item, told.last);
    reviewItem.replace(item, { address: told.address });
  }

  async function takeIn(answer, form) {
    if (answer.redirected) return complain(form, "loggedOut");
    if (answer.headers.get("content-type")?.startsWith("application/json")) {
      const told = await answer.json();
      document.dispatchEvent(new CustomEvent("review:decided", { detail: { form } }));
      return goOn(told);
    }
    const item = [400, 409].includes(answer.status) ? reviewItem.parse(await answer.text()) : null;
    if (!item) return complain(form, "refused");
    say("");
    reviewItem.replace(item);
  }

  function lookAhead(form) {
    if (!ahead) return;
    const words = document.createElement("p");
    words.className = "toast";
    words.textContent = form.dataset.sending;
    say(words.outerHTML);
    reviewItem.preview(ahead);
  }

  async function decide(form, button) {
    const body = new URLSearchParams(new FormData(form, button));
    isSending = true;
    form.setAttribute("aria-busy", "true");
    form.querySelector("[data-away]").hidden = true;
    try {
      const signal = AbortSignal.timeout(ANSWER_MS);
      const answer = fetch(form.getAttribute("action"), { method: "POST", body, headers: headers(), signal });
      lookAhead(form);
      await takeIn(await answer, form);
    } catch {
      complain(form, "noAnswer");
    } finally {
      isSending = false;
      form.removeAttribute("aria-busy");
    }
  }

  document.addEventListener("submit", (event) => {
    const form = event.target;
    // Giving back, skipping and claiming again are other addresses, and ordinary forms.
    if (!form.matches("[data-decision]") || event.defaultPrevented || event.submitter?.hasAttribute("formaction")) return;
    event.preventDefault();
    if (!isSending) decide(form, event.submitter);
  });
})();
