// Bars by day or hour, as SVG; stacked values differ by fill and order, and the numbers are in a table beside it.

import { h, put, svg } from "./dom.js";

const HEIGHT = 180,
  LEFT = 52,
  BOTTOM = 22,
  TOP = 10;

// days: [{ day, values: [n, …] }]; series: [{ name, class }]; limit: a line across, with a label; tick: a day's name on the axis.
export function bars({ label, days, series, say, limit, signal, tick = (each) => each.day.slice(5) }) {
  if (!days.some((each) => sum(each.values) > 0)) return h("p", { class: "soft" }, `${label}: nothing in this period.`);
  const most = Math.max(...days.map((each) => sum(each.values)));
  const top = nice(limit && limit.value <= 3 * most ? Math.max(most, limit.value) : most);
  // A budget far above the values would flatten the bars: it is only named, not drawn.
  const far = limit?.value > top;
  const place = h("div", { class: "plot" });
  const draw = () => put(place, chart(place.clientWidth || 640));
  window.addEventListener("resize", draw, { signal });
  requestAnimationFrame(draw);

  function chart(width) {
    const room = HEIGHT - TOP - BOTTOM,
      step = (width - LEFT) / Math.max(1, days.length);
    const y = (value) => TOP + room * (1 - value / top);
    const lines = [0, 0.5, 1].map((part) => [
      svg("line", { class: "grid", x1: LEFT, x2: width, y1: y(part * top), y2: y(part * top) }),
      svg("text", { class: "axis", x: LEFT - 6, y: y(part * top) + 4, "text-anchor": "end" }, say(part * top)),
    ]);
    const every = Math.ceil(days.length / Math.max(2, Math.floor((width - LEFT) / 74)));
    const stacks = days.map((each, index) => {
      let from = 0;
      const parts = each.values.map((value, at) => {
        const rect =
          value > 0 &&
          svg("rect", {
            class: series[at].class,
            x: LEFT + index * step + step * 0.12,
            width: Math.max(1, step * 0.76),
            y: y(from + value),
            height: Math.max(0.5, y(from) - y(from + value)),
          });
        from += value;
        return rect;
      });
      const title = `${each.day}: ${series.map((one, at) => `${one.name} ${say(each.values[at])}`).join(", ")}`;
      return svg(
        "g",
        null,
        svg("title", null, title),
        svg("rect", { class: "hover", x: LEFT + index * step, width: step, y: TOP, height: room }),
        parts,
        index % every === 0 && svg("text", { class: "axis", x: LEFT + index * step, y: HEIGHT - 6 }, tick(each)),
      );
    });
    const at = limit && y(limit.value);
    const line = limit && !far && svg("line", { class: "limit", x1: LEFT, x2: width, y1: at, y2: at });
    return svg(
      "svg",
      { width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": label },
      lines,
      stacks,
      line,
    );
  }
  return h(
    "figure",
    null,
    h(
      "figcaption",
      null,
      h("span", null, label),
      h(
        "span",
        { class: "legend" },
        series.length > 1 &&
          series.map((each) => entry(each.name, svg("rect", { class: each.class, width: 10, height: 10 }))),
        // Here, not beside its line, where it would cover a bar.
        limit &&
          (far
            ? h("span", null, `${limit.name} ${say(limit.value)}, above this scale`)
            : entry(`${limit.name} ${say(limit.value)}`, svg("line", { class: "limit", x1: 0, x2: 22, y1: 5, y2: 5 }))),
      ),
    ),
    place,
  );
}

const entry = (name, mark) =>
  h(
    "span",
    null,
    svg("svg", { width: mark.tagName === "line" ? 22 : 10, height: 10, "aria-hidden": "true" }, mark),
    name,
  );

const sum = (values) => values.reduce((all, value) => all + (value || 0), 0);

function nice(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 4, 6, 8, 10].map((each) => each * power).find((each) => each >= value * 0.9999);
}
