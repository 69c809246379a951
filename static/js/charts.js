// Draws the page's charts when they come near, in the colours of the page, and again when those change. Every chart has
// a table beside it, which needs nothing of this.
const NEAR = "400px";
const NARROW_PX = 420;
const MOST_NARROW = 14;
// Of `meta` in a trace: the names that figures may use, and the colour of the page that each stands for.
const TONES = {
  one: "--chart-1", two: "--chart-2", three: "--chart-3", four: "--chart-4", five: "--chart-5", six: "--chart-6",
  good: "--share-good", warn: "--share-warn", bad: "--share-bad", plain: "--share-plain", faint: "--chart-faint",
};
const CONFIG = { displayModeBar: false, responsive: true, showTips: false, doubleClick: false, scrollZoom: false };

const own = document.querySelector("script[data-plotly]");
const probe = document.createElement("span");
probe.hidden = true;
let loading = null;
const drawn = new Map();

function plotly() {
  loading ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = own.dataset.plotly;
    script.onload = () => resolve(window.Plotly);
    script.onerror = () => reject(new Error("the script of the charts did not come"));
    document.head.append(script);
  });
  return loading;
}

// A token may be light-dark(…); what a browser computes of it is a plain colour.
function colour(token) {
  if (!probe.isConnected) document.body.append(probe);
  probe.style.color = `var(${token})`;
  return getComputedStyle(probe).color;
}

function look() {
  return {
    text: colour("--text"), soft: colour("--text-soft"), line: colour("--line"), strong: colour("--chart-faint"), raised: colour("--raised"),
    sunken: colour("--sunken"), accent: colour("--accent"), font: getComputedStyle(document.body).fontFamily,
    tones: Object.fromEntries(Object.entries(TONES).map(([tone, token]) => [tone, colour(token)])),
  };
}

function painted(trace, page) {
  const { tone, tones, scale } = trace.meta ?? {};
  const chosen = tones ? tones.map((name) => page.tones[name]) : page.tones[tone];
  const copy = { ...trace, hoverlabel: { namelength: -1 } };
  if (chosen) copy.marker = { ...trace.marker, color: chosen };
  if (chosen && trace.line) copy.line = { ...trace.line, color: chosen };
  for (const bars of ["error_x", "error_y"]) if (trace[bars]) copy[bars] = { color: page.soft, thickness: 1.25, width: 4, ...trace[bars] };
  if (scale) Object.assign(copy, { colorscale: [[0, page.sunken], [1, page.accent]], showscale: false, xgap: 2, ygap: 2 });
  return copy;
}

// Words lose their end, names their middle: models of one maker begin alike. What was escaped for Plotly is cut as words.
function shortened(text) {
  const plain = text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
  if (plain.length <= MOST_NARROW) return text;
  const kept = MOST_NARROW - 1, ending = plain.includes(" ") ? 0 : Math.ceil(kept / 2);
  const cut = `${plain.slice(0, kept - ending).trimEnd()}…${plain.slice(plain.length - ending)}`;
  return cut.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

// On a phone whole words beside the bars would leave no room for the bars; they stand in the table and where one points.
function fitted(axis, width) {
  if (width >= NARROW_PX) return axis;
  return axis?.ticktext ? { ...axis, ticktext: axis.ticktext.map(shortened) } : { nticks: 4, ...axis };
}

function laidOut(layout, page, width) {
  const axis = {
    gridcolor: page.line, linecolor: page.line, zerolinecolor: page.strong, tickfont: { color: page.soft },
    automargin: true, fixedrange: true, ticklabelstandoff: 4,
  };
  const merged = {
    autosize: true, dragmode: false, hovermode: "closest", showlegend: false, bargap: 0.35, barcornerradius: 3,
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    margin: { l: 8, r: 12, t: 8, b: 8 },
    ...layout,
    font: { family: page.font, size: 12, color: page.text },
    colorway: Object.values(page.tones).slice(0, 6),
    hoverlabel: { bgcolor: page.raised, bordercolor: page.line, font: { family: page.font, size: 12, color: page.text }, align: "left" },
    legend: { orientation: "h", x: 0, xanchor: "left", y: 1.02, yanchor: "bottom", font: { color: page.soft }, traceorder: "normal", itemclick: false, itemdoubleclick: false, ...layout.legend },
  };
  for (const name of new Set(["xaxis", "yaxis", ...Object.keys(layout).filter((key) => /^[xy]axis\d*$/.test(key))])) {
    const title = layout[name]?.title;
    merged[name] = { ...axis, ...fitted(layout[name], width), ...(title && { title: { font: { color: page.soft, size: 12 }, standoff: 8, ...title } }) };
  }
  return merged;
}

async function draw(chart) {
  const plot = chart.querySelector("[data-plot]");
  try {
    const { data, layout = {} } = JSON.parse(chart.dataset.chart);
    const Plotly = await plotly();
    const page = look();
    await Plotly.react(plot, data.map((trace) => painted(trace, page)), laidOut(layout, page, plot.clientWidth), CONFIG);
    if (!drawn.has(chart)) follow(chart, plot);
    drawn.set(chart, plot);
    chart.dataset.drawn = "";
  } catch (error) {
    const told = document.createElement("p");
    told.className = "empty-line chart-empty";
    told.textContent = chart.dataset.saysFailed;
    plot.replaceWith(told);
    chart.querySelector("details").open = true;
    throw error;
  }
}

// The link of the chart's table to which a point leads.
function target(chart, event) {
  return chart.querySelectorAll("td a")[event.points?.[0]?.customdata ?? -1];
}

function follow(chart, plot) {
  plot.on("plotly_click", (event) => target(chart, event)?.click());
  plot.on("plotly_hover", (event) => plot.toggleAttribute("data-leads", Boolean(target(chart, event))));
  plot.on("plotly_unhover", () => plot.removeAttribute("data-leads"));
}

const nearing = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target: chart } of entries) {
    if (!isIntersecting) continue;
    nearing.unobserve(chart);
    draw(chart);
  }
}, { rootMargin: NEAR });

function watch(part) {
  for (const chart of part.querySelectorAll("[data-chart]:not([data-watched])")) {
    chart.dataset.watched = "";
    nearing.observe(chart);
  }
}

function redraw() {
  for (const [chart, plot] of drawn) {
    if (chart.isConnected) draw(chart);
    else {
      window.Plotly.purge(plot);
      drawn.delete(chart);
    }
  }
}

watch(document);
document.addEventListener("htmx:afterSettle", () => watch(document));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
new MutationObserver(redraw).observe(document.documentElement, { attributes: true, attributeFilter: ["class", "data-theme"] });
