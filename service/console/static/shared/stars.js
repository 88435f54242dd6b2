// Rating by steps of the service's own scale: a group of radio buttons that looks like stars.

import { access } from "./access.js";
import { el, svg } from "./dom.js";

const STAR = "M12 3l2.600 5.600 6.100.7-4.500 4.100 1.200 6-5.400-3-5.400 3 1.200-6L3.300 9.300l6.100-.7z";
const MOST_STEPS = 6;
let groups = 0;

export function steps(scale) {
  const [low, high] = scale.split(":").map(Number);
  const whole = Number.isInteger(low) && Number.isInteger(high) && high - low < MOST_STEPS;
  const n = whole ? high - low + 1 : 5;
  return Array.from({ length: n }, (_, ix) => low + (ix * (high - low)) / (n - 1));
}

// `value` is the rating that is given already, null for none.
export function ratingInput(scale, label, value, onrate) {
  const name = `rating-${++groups}`;
  const given = steps(scale);
  return el("fieldset", { class: "stars", disabled: !access.canWrite, title: access.canWrite ? undefined : "Reading only: this needs an admin key (Keys)" },
    el("legend", { class: "unseen" }, `Rate ${label}`),
    given.map((step, ix) => {
      const id = `${name}-${ix}`;
      return [
        el("input", { type: "radio", id, name, value: String(step), checked: value !== null && Math.abs(value - step) < 1e-9, onclick: () => onrate(step) }),
        el("label", { for: id, title: String(step) }, el("span", { class: "unseen" }, `${step} of ${given.at(-1)}`),
          svg("svg", { viewBox: "0 0 24 24", class: "star", "aria-hidden": "true" }, svg("path", { d: STAR }))),
      ];
    }));
}

// A predicted rating with the range that holds eight of ten.
export function predicted(one, scale) {
  const [low, high] = scale.split(":").map(Number);
  const at = (x) => `${(100 * (x - low)) / (high - low)}%`;
  return el("span", { class: "predicted", title: `About eight of ten ratings are between ${one.low.toFixed(1)} and ${one.high.toFixed(1)}` },
    el("b", null, one.rating.toFixed(1)),
    el("span", { class: "range", "aria-hidden": "true" },
      el("span", { class: "range-fill", style: { left: at(one.low), right: `calc(100% - ${at(one.high)})` } }),
      el("span", { class: "range-dot", style: { left: at(one.rating) } })),
    el("span", { class: "unseen" }, `, from ${one.low.toFixed(1)} to ${one.high.toFixed(1)}`));
}
