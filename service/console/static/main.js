// The shell: navigation, theme, the state of the service, and which page is shown.

import { access, findAccess, onAccess } from "./shared/access.js";
import { key, readiness } from "./shared/api.js";
import { el, fill, icon } from "./shared/dom.js";
import { badge, errorState, loading } from "./shared/parts.js";

// where the third is true, a group of pages begins
const PAGES = [
  ["overview", "Overview"], ["try", "Try it"],
  ["items", "Items", true], ["users", "Users"], ["topics", "Topics"],
  ["models", "Models", true], ["rankers", "Rankers"], ["experts", "Experts"], ["experiments", "Experiments"],
  ["keys", "Keys", true], ["settings", "Settings"],
];
const THEMES = { auto: "System", light: "Light", dark: "Dark" };
const STATE_MS = 5000;
const TITLES = Object.fromEntries(PAGES);

const nav = document.getElementById("nav");
const content = document.getElementById("content");
const menu = document.getElementById("menu");
const state = el("div", { class: "service-state", role: "status" });
let leaving = new AbortController();

function drawNavigation() {
  const here = current().page;
  fill(nav,
    el("ul", null, PAGES.map(([page, title, begins]) => el("li", { class: begins && "begins" },
      el("a", { href: `#/${page}`, "aria-current": page === here && "page" }, icon(page), title)))),
    el("div", { class: "nav-end" }, state, themeSwitch()));
}

function themeSwitch() {
  const chosen = localStorage.getItem("hedgerow.theme") ?? "auto";
  return el("label", { class: "theme" }, icon("theme"), el("span", { class: "unseen" }, "Theme"),
    el("select", { onchange: (event) => setTheme(event.target.value) },
      Object.entries(THEMES).map(([value, text]) => el("option", { value, selected: value === chosen }, text))));
}

function setTheme(theme) {
  localStorage.setItem("hedgerow.theme", theme);
  document.documentElement.dataset.theme = theme;
}

function current() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [page, ...rest] = path.split("/");
  const known = page in TITLES ? page : "overview";
  return { page: known, args: rest.map(decodeURIComponent), query: new URLSearchParams(query) };
}

// `moved` is true where somebody has gone to another page: then the focus goes with them.
async function show(moved = false) {
  if (location.hash === "#content") return;
  leaving.abort();
  leaving = new AbortController();
  const { signal } = leaving;
  const { page, args, query } = current();
  openMenu(false);
  drawNavigation();
  document.title = `${TITLES[page]} · Hedgerow`;
  const root = el("div", { class: `page page-${page}` });
  try {
    const module = await import(`./pages/${page}.js`);
    if (signal.aborted) return;
    fill(content, root);
    content.scrollTo(0, 0);
    if (moved) content.focus({ preventScroll: true });
    await module.show(root, { args, query, signal, every: (ms, work) => every(ms, work, signal) });
  } catch (error) {
    if (!signal.aborted && error.name !== "AbortError") fill(content, errorState(error, () => show()));
  }
}

// Repeats work while the page is shown and the tab is seen; a slow answer is never asked for twice.
async function every(ms, work, signal) {
  while (!signal.aborted) {
    await new Promise((resolve) => setTimeout(resolve, ms));
    if (!signal.aborted && !document.hidden) await Promise.resolve(work()).catch(() => {});
  }
}

async function drawState() {
  let tone = "bad", says = "does not answer", more = "";
  try {
    const ready = await readiness();
    const works = ready.status === "ready" && ready.accepting && ready.learning;
    [tone, says] = works ? ["good", ready.namespace] : ["warn", ready.status === "ready" ? "something is wrong" : "starting"];
    more = ready.warning ?? "";
  } catch (error) {
    more = error.message;
  }
  const level = access.isSure && { admin: null, read: badge("reading only"), none: badge("no key", "warn") }[access.level];
  fill(state, el("span", { class: `light ${tone}`, title: more }), el("span", { class: "service-name", title: more }, says), level);
}

function begin() {
  const needsKey = access.isSure && access.level === "none" && key.get() === null;
  if (needsKey && !location.hash) history.replaceState(null, "", "#/keys");
  show();
}

// A service that was away when the tab was opened may answer now; pages are drawn by what the caller may do.
async function attend() {
  if (access.isSure) return drawState();
  await findAccess();
  if (access.isSure) begin();
}

function openMenu(isOpen) {
  document.body.classList.toggle("menu-open", isOpen);
  menu.setAttribute("aria-expanded", String(isOpen));
  fill(menu, icon(isOpen ? "close" : "menu"));
}

menu.addEventListener("click", () => openMenu(!document.body.classList.contains("menu-open")));
document.addEventListener("keydown", (event) => event.key === "Escape" && openMenu(false));
window.addEventListener("hashchange", () => show(true));
onAccess(drawState);
setTheme(localStorage.getItem("hedgerow.theme") ?? "auto");
drawNavigation();
openMenu(false);
fill(content, loading());
await findAccess();
begin();
every(STATE_MS, attend, new AbortController().signal);
