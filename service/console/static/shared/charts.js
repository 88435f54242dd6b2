// Line charts and bars in SVG: they follow the theme by the style sheet, and scale with their box.

import { el, fill, svg } from "./dom.js";
import { decimal } from "./format.js";

const PAD = { left: 44, right: 12, top: 10, bottom: 24 };
const SERIES_COLOURS = 8;

// About as many units across as pixels, so that letters are as large as those around the chart.
const across = (wide) => (window.innerWidth < 700 ? 340 : wide ? 1060 : 500);

// `series`: [{name, points: [[x, y], ...]}]; x are numbers in order. The table below the chart says
// the same to those who cannot see it.
export function lineChart(series, options) {
  const { label, height = 200, formatX = String, formatY = (y) => decimal(y), from, area = false, wide = false } = options;
  const drawn = series.map((one, ix) => ({ colour: ix % SERIES_COLOURS, ...one })).filter((one) => one.points.length > 0);
  if (!drawn.some((one) => one.points.length > 1)) {
    return el("div", { class: "chart-wait" }, "The line begins as soon as there are two points.");
  }
  const scale = scales(drawn, across(wide), height, from);
  const lines = drawn.map((one) => svg("path", { class: `line c${one.colour}`, d: path(one.points, scale) }));
  const under = area && drawn.map((one) => svg("path", { class: `area c${one.colour}`, d: closed(one.points, scale, height) }));
  const cross = svg("line", { class: "cross", y1: PAD.top, y2: height - PAD.bottom, visibility: "hidden" });
  const tip = el("div", { class: "tip", hidden: true });
  const picture = svg("svg", { viewBox: `0 0 ${scale.width} ${height}`, class: "chart", role: "img", "aria-label": `${label}: ${latest(drawn, formatY)}` },
    grid(scale, height, formatX, formatY), under, lines, cross);
  const box = el("div", { class: "chart-box" }, picture, tip);
  picture.addEventListener("pointermove", (event) => point(event, { picture, drawn, scale, cross, tip, formatX, formatY }));
  picture.addEventListener("pointerleave", () => { tip.hidden = true; cross.setAttribute("visibility", "hidden"); });
  return el("figure", { class: "chart-figure" }, box, drawn.length > 1 && legend(drawn, formatY));
}

function scales(drawn, width, height, from) {
  const xs = drawn.flatMap((one) => one.points.map(([x]) => x));
  const ys = drawn.flatMap((one) => one.points.map(([, y]) => y));
  const [x0, x1] = [Math.min(...xs), Math.max(...xs)];
  const ticks = niceTicks(Math.min(...ys, from ?? Infinity), Math.max(...ys));
  const [y0, y1] = [ticks[0], ticks.at(-1)];
  return {
    x0, x1, ticks, width,
    x: (x) => PAD.left + ((x - x0) / (x1 - x0 || 1)) * (width - PAD.left - PAD.right),
    y: (y) => height - PAD.bottom - ((y - y0) / (y1 - y0 || 1)) * (height - PAD.top - PAD.bottom),
  };
}

function niceTicks(low, high) {
  if (high - low < 1e-12) [low, high] = low === 0 ? [0, 4] : [low - Math.abs(low) * 0.1, high + Math.abs(high) * 0.1];
  const rough = (high - low) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((n) => n * power).find((n) => n >= rough);
  const first = Math.floor(low / step + 1e-9);
  const n = Math.ceil(high / step - 1e-9) - first;
  return Array.from({ length: n + 1 }, (_, ix) => (first + ix) * step);
}

function grid(scale, height, formatX, formatY) {
  const lines = scale.ticks.map((y) => [
    svg("line", { class: "grid", x1: PAD.left, x2: scale.width - PAD.right, y1: scale.y(y), y2: scale.y(y) }),
    svg("text", { class: "axis", x: PAD.left - 6, y: scale.y(y) + 4, "text-anchor": "end" }, formatY(y)),
  ]);
  const ends = [[scale.x0, "start"], [(scale.x0 + scale.x1) / 2, "middle"], [scale.x1, "end"]];
  return [lines, ends.map(([x, anchor]) => svg("text", { class: "axis", x: scale.x(x), y: height - 6, "text-anchor": anchor }, formatX(x)))];
}

function path(points, scale) {
  return points.map(([x, y], ix) => `${ix ? "L" : "M"}${scale.x(x).toFixed(1)} ${scale.y(y).toFixed(1)}`).join("");
}

function closed(points, scale, height) {
  const base = height - PAD.bottom;
  return `${path(points, scale)}L${scale.x(points.at(-1)[0]).toFixed(1)} ${base}L${scale.x(points[0][0]).toFixed(1)} ${base}Z`;
}

function point(event, { picture, drawn, scale, cross, tip, formatX, formatY }) {
  const bounds = picture.getBoundingClientRect();
  const at = ((event.clientX - bounds.left) / bounds.width) * scale.width;
  const x = nearest(drawn[0].points.map(([one]) => one), (one) => Math.abs(scale.x(one) - at));
  cross.setAttribute("x1", scale.x(x));
  cross.setAttribute("x2", scale.x(x));
  cross.setAttribute("visibility", "visible");
  fill(tip, el("div", { class: "quiet" }, formatX(x)), drawn.map((one) => {
    const [, y] = nearest(one.points, ([other]) => Math.abs(other - x));
    return el("div", { class: "tip-row" }, el("span", { class: `dot c${one.colour}` }), one.name, el("b", null, formatY(y)));
  }));
  tip.hidden = false;
  tip.style.setProperty("left", `${(scale.x(x) / scale.width) * 100}%`);
  tip.classList.toggle("left", scale.x(x) > scale.width / 2);
}

function nearest(values, distance) {
  return values.reduce((best, one) => (distance(one) < distance(best) ? one : best));
}

function latest(drawn, formatY) {
  return drawn.map((one) => `${one.name} now ${formatY(one.points.at(-1)[1])}`).join(", ");
}

function legend(drawn, formatY) {
  return el("ul", { class: "legend" }, drawn.map((one) => el("li", null, el("span", { class: `dot c${one.colour}` }), one.name,
    el("b", null, formatY(one.points.at(-1)[1])))));
}

// `rows`: [{name, value, text}]; a negative value goes to the left of the middle.
export function barList(rows, options) {
  const { label } = options;
  const most = Math.max(...rows.map((row) => Math.abs(row.value)), 1e-12);
  const below = rows.some((row) => row.value < 0);
  return el("ul", { class: `bars${below ? " both" : ""}`, "aria-label": label }, rows.map((row) => {
    const width = `${(Math.abs(row.value) / most) * (below ? 50 : 100)}%`;
    const side = row.value < 0 ? "minus" : "plus";
    return el("li", null, el("span", { class: "bars-name" }, row.name),
      el("span", { class: "bars-track", "aria-hidden": "true" }, el("span", { class: `bars-fill ${side}`, style: { width } })),
      el("span", { class: "bars-value" }, row.text));
  }));
}

// A series that this tab collects itself, of what the service only tells as it is now.
export class Kept {
  constructor(most = 400) {
    Object.assign(this, { most, lines: new Map() });
  }

  add(x, values) {
    for (const [name, y] of Object.entries(values)) {
      const points = this.lines.get(name) ?? [];
      if (Number.isFinite(y) && points.at(-1)?.[0] !== x) points.push([x, y]);
      if (points.length > this.most) points.splice(0, points.length - this.most);
      this.lines.set(name, points);
    }
  }

  series() {
    return [...this.lines].map(([name, points]) => ({ name, points }));
  }
}
