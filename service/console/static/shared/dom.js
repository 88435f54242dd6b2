// Builds elements. Data only ever becomes text or attributes: nothing here parses HTML.

const SVG = "http://www.w3.org/2000/svg";

export function el(tag, props, ...children) {
  return filled(document.createElement(tag), props, children);
}

export function svg(tag, props, ...children) {
  return filled(document.createElementNS(SVG, tag), props, children);
}

function filled(node, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    // through the object model, which the policy allows; an attribute `style` it would refuse
    else if (name === "style") for (const [key, text] of Object.entries(value)) node.style.setProperty(key, text);
    else if (name === "value") node.value = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...present(children));
  return node;
}

function present(children) {
  return children.flat(3).filter((child) => child !== null && child !== undefined && child !== false);
}

export function fill(node, ...children) {
  node.replaceChildren(...present(children));
  return node;
}

// Icons are paths on a grid of 24, drawn with the colour of the text.
const ICONS = {
  overview: "M3 12h4l3-8 4 16 3-8h4",
  try: "M12 3l2.6 5.6 6.1.7-4.5 4.1 1.2 6-5.4-3-5.4 3 1.2-6L3.3 9.3l6.1-.7z",
  items: "M4 4h7v7H4zM13 4h7v7h-7zM4 13h7v7H4zM13 13h7v7h-7z",
  users: "M16 20v-2a4 4 0 0 0-4-4H7a4 4 0 0 0-4 4v2M9.500 10a3.500 3.500 0 1 0 0-7 3.500 3.500 0 0 0 0 7M21 20v-2a4 4 0 0 0-3-3.850M16 3.200a3.500 3.500 0 0 1 0 6.700",
  topics: "M12 3a4 4 0 1 1 0 8 4 4 0 0 1 0-8M6 13a4 4 0 1 1 0 8 4 4 0 0 1 0-8M18 13a4 4 0 1 1 0 8 4 4 0 0 1 0-8",
  models: "M12 2l9 5-9 5-9-5zM3 12l9 5 9-5M3 17l9 5 9-5",
  rankers: "M4 20V10M10 20V4M16 20v-7M22 20H2",
  experts: "M3 17l6-6 4 4 8-9M15 6h6v6",
  experiments: "M9 3h6M10 3v6l-5 9a2 2 0 0 0 2 3h10a2 2 0 0 0 2-3l-5-9V3M7.500 15h9",
  keys: "M15 9a5 5 0 1 1-4.600-7A5 5 0 0 1 15 9zM13 11l8 8M17 15l3-3",
  settings: "M4 7h10M18 7h2M4 17h2M10 17h10M16 4.500v5M8 14.500v5",
  menu: "M4 7h16M4 12h16M4 17h16",
  close: "M6 6l12 12M18 6L6 18",
  search: "M11 4a7 7 0 1 1 0 14 7 7 0 0 1 0-14M16 16l5 5",
  up: "M12 19V5M6 11l6-6 6 6",
  down: "M12 5v14M6 13l6 6 6-6",
  ok: "M5 13l4 4L19 7",
  warn: "M12 4l9 16H3zM12 10v4M12 17v.5",
  theme: "M12 3v18M12 3a9 9 0 1 1 0 18 9 9 0 0 1 0-18",
  refresh: "M20 11a8 8 0 1 0-.600 4M20 4v7h-7",
  hide: "M3 3l18 18M10 6.200A9 9 0 0 1 21 12a12 12 0 0 1-2.500 3M6.500 7A12 12 0 0 0 3 12a9.500 9.500 0 0 0 11 5.700",
  pin: "M12 21v-6M7 15h10l-2-4V4h1V2H8v2h1v7z",
};

export function icon(name) {
  return svg("svg", { viewBox: "0 0 24 24", class: "icon", "aria-hidden": "true" }, svg("path", { d: ICONS[name] }));
}
