// A year of days as squares, and the same in a table.

import { h, put, svg } from "./dom.js";
import { go } from "./router.js";
import { n, table } from "./table.js";
import { many, number } from "./words.js";

const SMALLEST = 13,
  LARGEST = 19,
  DAY = 86_400_000,
  LEFT = 32,
  TOP = 16,
  WEEKS = 53;
const MONTH = new Intl.DateTimeFormat(undefined, { month: "short", timeZone: "UTC" });
const WEEKDAY = new Intl.DateTimeFormat(undefined, { weekday: "short", timeZone: "UTC" });

export function year(activity, hrefOf, signal) {
  const counts = new Map(activity.map((day) => [day.day, day.observations + day.summaries + day.prompts]));
  const most = Math.max(1, ...counts.values());
  const place = h("div", {
    class: "heat wide",
    tabindex: 0,
    role: "group",
    "aria-label": "Activity by day; a table follows",
  });
  const draw = () => {
    const room = place.clientWidth || 700; // as many weeks as fit, the newest last
    const cell = Math.max(SMALLEST, Math.min(LARGEST, Math.floor((room - LEFT - 4) / WEEKS)));
    put(
      place,
      squares(counts, most, hrefOf, Math.max(12, Math.min(WEEKS, Math.floor((room - LEFT - 4) / cell))), cell),
    );
  };
  window.addEventListener("resize", draw, { signal });
  requestAnimationFrame(draw);
  const days = [...activity].sort((a, b) => b.day.localeCompare(a.day));
  return [
    place,
    h(
      "details",
      null,
      h("summary", null, `As numbers: ${many(days.length, "active day")}`),
      table(
        "The year as numbers",
        ["Day", n("Observations"), n("Summaries"), n("Prompts")],
        days.map((day) => [
          h("a", { href: hrefOf(day.day) }, day.day),
          number(day.observations),
          number(day.summaries),
          number(day.prompts),
        ]),
      ),
    ),
  ];
}

function squares(counts, most, hrefOf, weeks, CELL) {
  const today = Date.UTC(...((now) => [now.getFullYear(), now.getMonth(), now.getDate()])(new Date())); // local, like the worker's days
  const first = today - (((new Date(today).getUTCDay() + 6) % 7) + 7 * (weeks - 1)) * DAY; // a Monday
  const cells = [],
    labels = [];
  let said = -1;
  for (let at = first; at <= today; at += DAY) {
    const index = Math.round((at - first) / DAY),
      column = Math.floor(index / 7),
      row = index % 7,
      when = new Date(at);
    const name = when.toISOString().slice(0, 10),
      count = counts.get(name) || 0;
    if (row === 0 && when.getUTCMonth() !== said) {
      said = when.getUTCMonth();
      if (column - (labels.at(-1)?.column ?? -9) < 3) labels.pop(); // a month with few days shown
      if (column < weeks - 1) labels.push({ column, name: MONTH.format(at) });
    }
    cells.push(
      svg(
        "rect",
        {
          x: LEFT + column * CELL,
          y: TOP + row * CELL,
          width: CELL - 2,
          height: CELL - 2,
          rx: 2,
          class: `day heat-${level(count, most)}`,
          onclick: count ? () => go(hrefOf(name)) : null,
        },
        svg("title", null, `${name}: ${count || "nothing"}`),
      ),
    );
  }
  const weekdays = [0, 2, 4].map((row) =>
    svg("text", { x: 0, y: TOP + row * CELL + CELL / 2 + 3, class: "axis" }, WEEKDAY.format(first + row * DAY)),
  );
  const width = LEFT + weeks * CELL;
  return svg(
    "svg",
    {
      width,
      height: TOP + 7 * CELL,
      viewBox: `0 0 ${width} ${TOP + 7 * CELL}`,
      role: "img",
      "aria-label": `${many(counts.size, "active day")} in the last year`,
    },
    labels.map(({ column, name }) => svg("text", { x: LEFT + column * CELL, y: 10, class: "axis" }, name)),
    weekdays,
    cells,
  );
}

// By the square root: one busy day does not make all others look idle.
const level = (count, most) => (count ? Math.max(1, Math.ceil(4 * Math.sqrt(count / most))) : 0);
