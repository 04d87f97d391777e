// Texts, dates and numbers in the language of the page. Each language has one file in texts/; only the one in use is loaded.

import { kept } from "./storage.js";

/** The languages to choose from, each by its own name. */
export const LANGUAGES = { en: "English", pt: "Português", de: "Deutsch", es: "Español" };

const base = (tag) => tag.toLowerCase().split("-")[0];
const known = (tag) => Object.hasOwn(LANGUAGES, base(tag));

/** The language in use: the chosen one, else the first of the browser's languages that is available, else English. */
export const language = base([kept.get("language") ?? "", ...navigator.languages].find(known) ?? "en");

/** The locale of dates and numbers: the browser's variant of the language, if it has one. */
const locale = navigator.languages.find((tag) => base(tag) === language) ?? language;

const { default: texts } = await import(`./texts/${language}.js`);
document.documentElement.lang = language;

/** Use another language from now on. The page is loaded again, because everything on it is in the old one. */
export function chooseLanguage(chosen) {
  kept.set("language", chosen);
  location.reload();
}

const plural = new Intl.PluralRules(locale);

/** Return the text of a key as a list of its parts, with the values in place of `{name}`. `{count}` selects the plural form. */
export function textParts(key, values = {}) {
  const found = texts[key] ?? key, text = typeof found === "string" ? found : found[plural.select(values.count)] ?? found.other;
  const shown = (value) => (typeof value === "number" ? number(value) : value ?? "");
  return text.split(/\{(\w+)\}/).map((part, index) => (index % 2 ? shown(values[part]) : part));
}

/** Return the text of a key. Values that are nodes need `textParts`. */
export const t = (key, values) => textParts(key, values).join("");

/** Return a text with its first letter in upper case. */
export const capital = (text) => text.charAt(0).toLocaleUpperCase(locale) + text.slice(1);

const conjunction = new Intl.ListFormat(locale);

/** Join texts as a list: "a, b and c". */
export const listed = (items) => conjunction.format(items);

// Numbers

export const number = (value, digits = 0) =>
  value.toLocaleString(locale, { minimumFractionDigits: digits, maximumFractionDigits: digits });

// Times

const DAY = 86_400_000;
const date = new Intl.DateTimeFormat(locale, { day: "numeric", month: "short" });
const dated = new Intl.DateTimeFormat(locale, { day: "numeric", month: "short", year: "numeric" });
const clock = new Intl.DateTimeFormat(locale, { hour: "2-digit", minute: "2-digit" });
const relative = new Intl.RelativeTimeFormat(locale, { numeric: "auto" });

/** Format a timestamp as relative time, or as a date if it is not recent. */
export function ago(at) {
  const past = Date.now() - at;
  const sign = past < 0 ? 1 : -1, size = Math.abs(past);
  if (size < 45_000) return past < -5_000 ? t("time.soon") : t("time.now"); // tolerates clock skew
  if (size < 3_600_000) return relative.format(sign * Math.round(size / 60_000), "minute");
  if (size < DAY) return relative.format(sign * Math.round(size / 3_600_000), "hour");
  if (size < 7 * DAY) return relative.format(sign * Math.round(size / DAY), "day");
  return new Date(at).getFullYear() === new Date().getFullYear() ? date.format(at) : dated.format(at);
}

/** Format a timestamp in full. */
export const moment = (at) => `${dated.format(at)}, ${clock.format(at)}`;

/** Format a timestamp as a date. */
export const day = (at) => dated.format(at);

/** Format a timestamp as relative time and time of day. */
export const agoAt = (at) => `${ago(at)}, ${clock.format(at)}`;

const formats = new Map();

/** Format a timestamp with the options of Intl.DateTimeFormat. */
export function dateBy(at, options) {
  const key = JSON.stringify(options);
  if (!formats.has(key)) formats.set(key, new Intl.DateTimeFormat(locale, options));
  return formats.get(key).format(at);
}

/** Format a duration. */
export function span(milliseconds) {
  if (milliseconds < 1_000) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 60_000) return `${Math.round(milliseconds / 1_000)} s`;
  if (milliseconds < 3_600_000) return `${Math.round(milliseconds / 60_000)} min`;
  return milliseconds < 2 * DAY ? `${Math.round(milliseconds / 3_600_000)} h` : t("time.days", { count: Math.round(milliseconds / DAY) });
}
