// How numbers, sizes and times are written, the same on every page.

const LOCALE = "en-GB";
const plain = new Intl.NumberFormat(LOCALE);
const short = new Intl.NumberFormat(LOCALE, { notation: "compact", maximumFractionDigits: 1 });

export const NONE = "–";

export function count(n) {
  if (n === null || n === undefined) return NONE;
  return Math.abs(n) < 100_000 ? plain.format(n) : short.format(n);
}

export function decimal(x, digits = 2) {
  return Number.isFinite(x) ? x.toFixed(digits) : NONE;
}

export function signed(x, digits = 2) {
  return Number.isFinite(x) ? `${x < 0 ? "−" : "+"}${Math.abs(x).toFixed(digits)}` : NONE;
}

export function percent(x, digits = 1) {
  return Number.isFinite(x) ? `${(100 * x).toFixed(digits)} %` : NONE;
}

export function bytes(n) {
  if (!Number.isFinite(n)) return NONE;
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  for (; n >= 1000 && unit < units.length - 1; unit++) n /= 1000;
  return `${unit === 0 || n >= 100 ? Math.round(n) : n.toFixed(1)} ${units[unit]}`;
}

export function duration(ms) {
  if (!Number.isFinite(ms)) return NONE;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 120_000) return `${(ms / 1000).toFixed(1)} s`;
  return ms < 7_200_000 ? `${Math.round(ms / 60_000)} min` : `${Math.round(ms / 3_600_000)} h`;
}

export function ago(time) {
  if (!time) return NONE;
  const s = (Date.now() - new Date(time)) / 1000;
  if (s < 5) return "just now";
  const steps = [[60, 1, "s"], [3600, 60, "min"], [86_400, 3600, "h"], [Infinity, 86_400, "d"]];
  const [, size, unit] = steps.find(([until]) => s < until);
  return `${Math.floor(s / size)} ${unit} ago`;
}

export function moment(time) {
  if (!time) return NONE;
  return new Date(time).toLocaleString(LOCALE, { dateStyle: "medium", timeStyle: "short" });
}

export function plural(n, one, many = `${one}s`) {
  return `${count(n)} ${n === 1 ? one : many}`;
}
