// Tells at once what the ratings come to by the rubric. The server draws the verdict that counts (loops/rubrics.py).
(() => {
  const HOLDS_FROM = 50;

  function tell(rate) {
    let sum = 0;
    let weights = 0;
    let isWhole = true;
    let holds = true;
    for (const row of rate.querySelectorAll("[data-criterion]")) {
      const chosen = row.querySelector("input[type=radio]:checked");
      if (!chosen) isWhole = false;
      else {
        const [weight, worth] = [Number(row.dataset.weight), Number(chosen.dataset.worth)];
        sum += weight * worth;
        weights += weight;
        if (row.dataset.mustHold !== undefined && worth < HOLDS_FROM) holds = false;
      }
    }
    const result = rate.querySelector("[data-rate-result]");
    const score = Math.round((100 * sum) / weights) / 100;
    const isPass = score >= Number(rate.dataset.passFrom) && holds;
    const verdict = isPass ? "pass" : score >= Number(rate.dataset.reviseFrom) ? "revise" : "reject";
    for (const word of result.querySelectorAll("[data-verdict]")) word.hidden = !isWhole || word.dataset.verdict !== verdict;
    result.querySelector("[data-score]").textContent = isWhole ? String(score) : "–";
  }

  const tellAll = () => document.querySelectorAll("[data-rate]").forEach(tell);
  document.addEventListener("change", (event) => {
    const rate = event.target.closest?.("form")?.querySelector("[data-rate]");
    if (rate) tell(rate);
  });
  document.addEventListener("review:shown", tellAll);
  addEventListener("DOMContentLoaded", tellAll);
})();
