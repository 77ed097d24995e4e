// What memory costs: by day, model and project; what is injected; what batching saved; the budget.

import { h, labelled, put } from "../dom.js";
import { get, isAbort } from "../api.js";
import { link, projectLink, rename } from "../router.js";
import { projectOptions } from "../choices.js";
import { bars } from "../plot.js";
import { n, table } from "../table.js";
import { dollars, leaf, many, money, number, occasion, short } from "../words.js";

const TOKENS = [
  { name: "input", class: "one" },
  { name: "cached input", class: "two" },
  { name: "output", class: "three" },
];
const SPANS = [
  [7, "7 days"],
  [30, "30 days"],
  [90, "90 days"],
  [365, "365 days"],
];

export async function show(place, main, signal) {
  document.title = "Cost · claude-mem";
  const days = SPANS.some(([each]) => each === Number(place.query.days)) ? Number(place.query.days) : 30;
  const asked = { days, project: place.query.project };
  const since = h("p", { class: "meta", role: "status" }),
    shown = h("div");
  let latest = null,
    until = signal;
  const ask = () => {
    latest?.abort();
    latest = new AbortController();
    until = AbortSignal.any([signal, latest.signal]);
    return get("/api/cost", asked, until);
  };
  const fill = (cost) => {
    since.textContent = `Since ${cost.since}. Days are in UTC.`;
    put(shown, figures(cost, asked.project, until));
  };
  // Only the figures are redrawn, so that keyboard focus stays in the control.
  const choose = (change) => {
    Object.assign(asked, change);
    rename(link("cost", "", asked));
    ask()
      .then(fill)
      .catch((error) => isAbort(error) || put(shown, h("p", { class: "wrongly" }, error.message)));
  };
  const [cost, { items }] = await Promise.all([ask(), get("/api/projects", { limit: 100 }, signal)]);
  put(
    main,
    h(
      "div",
      { class: "head" },
      h("div", null, h("h1", { tabindex: -1 }, "Cost"), since),
      h(
        "div",
        { class: "filters" },
        labelled(
          "Period",
          h(
            "select",
            { id: "cost-days", onchange: (event) => choose({ days: event.target.value }) },
            SPANS.map(([each, name]) => h("option", { value: each, selected: each === days }, name)),
          ),
        ),
        labelled(
          "Project",
          h(
            "select",
            { id: "cost-project", onchange: (event) => choose({ project: event.target.value }) },
            h("option", { value: "" }, "all"),
            projectOptions(items, asked.project),
          ),
        ),
      ),
    ),
    shown,
  );
  fill(cost);
}

function figures(cost, project, signal) {
  const { total, budget, batching } = cost;
  if (!total.calls && !cost.injected.length)
    return h("p", null, "No model was used and nothing was injected in this period, so nothing was spent.");
  return [
    h(
      "div",
      { class: "tiles" },
      tile("Spent", money(total.cost_usd), many(total.calls, "call")),
      tile(
        "Input",
        short(total.input_tokens),
        total.cached_tokens ? `tokens, plus ${short(total.cached_tokens)} cached` : "tokens",
      ),
      tile("Output", short(total.output_tokens), "tokens"),
      tile("Injected", short(cost.injected.reduce((all, each) => all + each.tokens, 0)), "tokens"),
      tile(
        "Saved by batching",
        short(batching.saved_tokens),
        batching.saved_usd ? `tokens, ${money(batching.saved_usd)}` : "tokens",
      ),
      tile("Today", short(budget.today.tokens), `${project ? "tokens, all projects" : "tokens"}${limitOf(budget)}`),
    ),
    h(
      "section",
      { class: "panel" },
      bars({
        label: "Tokens by day",
        signal,
        series: TOKENS,
        say: short,
        days: cost.by_day.map((each) => ({
          day: each.day,
          values: [each.input_tokens, each.cached_tokens || 0, each.output_tokens],
        })),
        limit: !project && budget.daily_tokens ? { value: budget.daily_tokens, name: "daily budget" } : null,
      }),
    ),
    h(
      "section",
      { class: "panel" },
      bars({
        label: "Dollars by day",
        signal,
        series: [{ name: "spent", class: "one" }],
        say: dollars,
        days: cost.by_day.map((each) => ({ day: each.day, values: [each.cost_usd || 0] })),
        limit: !project && budget.daily_usd ? { value: budget.daily_usd, name: "daily budget" } : null,
      }),
    ),
    h(
      "section",
      { class: "panel" },
      bars({
        label: "Tokens injected by day",
        signal,
        series: [{ name: "injected", class: "two" }],
        say: short,
        days: filled(cost),
      }),
    ),
    h(
      "section",
      { class: "panel" },
      h("h2", null, "What batching saved"),
      h("p", null, batching.calls ? batching.explained : "No model was used, so there was nothing to save."),
    ),
    spent("By model", ["Model", "Provider"], cost.by_model, (each) => [each.model || "unknown", each.provider]),
    spent("By project", ["Project"], cost.by_project, (each) => [
      each.project ? h("a", { href: projectLink(each.project) }, leaf(each.project)) : "unknown",
    ]),
    spent("By day", ["Day"], cost.by_day.filter((each) => each.calls).reverse(), (each) => [each.day]),
    injections(cost.injected_by_event),
  ];
}

const tile = (name, value, unit) =>
  h(
    "div",
    { class: "tile" },
    h("div", { class: "meta" }, name),
    h("div", { class: "big" }, value),
    h("div", { class: "meta" }, unit),
  );

function limitOf(budget) {
  const limits = [
    budget.daily_tokens && `${short(budget.daily_tokens)} tokens`,
    budget.daily_usd && money(budget.daily_usd),
  ].filter(Boolean);
  return limits.length ? `, of ${limits.join(" or ")}` : "; no budget set";
}

function filled(cost) {
  const by = new Map(cost.injected.map((each) => [each.day, each.tokens]));
  return cost.by_day.map((each) => ({ day: each.day, values: [by.get(each.day) || 0] }));
}

const NUMBERS = ["Calls", "Input", "Cached", "Output", "Spent"].map(n);

function spent(title, names, rows, cells) {
  return section(
    title,
    [...names, ...NUMBERS],
    rows.map((each) => [
      ...cells(each),
      number(each.calls),
      number(each.input_tokens),
      number(each.cached_tokens),
      number(each.output_tokens),
      money(each.cost_usd),
    ]),
    "No cost: no model was used.",
  );
}

function injections(events) {
  return section(
    "Injected into sessions",
    ["When", n("Times"), n("Tokens")],
    events.map((each) => [occasion(each.event), number(each.times), number(each.tokens)]),
    "Nothing was injected in this period.",
  );
}

const section = (title, columns, rows, none) =>
  h("section", null, h("h2", null, title), rows.length ? table(title, columns, rows) : h("p", { class: "meta" }, none));
