// Hash routing: every state of the page has an address, so it can be linked to and the back button works.

import { who } from "./api.js";

/** The default memory, shown if an address names none. */
export const standard = { workspace: null, agent: null };

/** Parse an address: #/view/part/part?key=value */
export function read(hash = location.hash) {
  const [path, search = ""] = hash.replace(/^#\/?/, "").split("?");
  const [view, ...parts] = path.split("/").map(decoded);
  return { view: view || "overview", parts, query: Object.fromEntries(new URLSearchParams(search)) };
}

function decoded(part) {
  try { return decodeURIComponent(part); } catch { return part; }
}

/** Build an address; empty values are omitted, and the memory is named only if it is not the default. */
export function href(parts, query = {}) {
  const search = new URLSearchParams();
  const where = Object.fromEntries(["workspace", "agent"].map((key) => [key, who[key] !== standard[key] ? who[key] : null]));
  for (const [key, value] of Object.entries({ ...where, ...query })) if (value) search.set(key, value);
  const text = search.toString();
  return `#/${[parts].flat().map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
}

/** Navigate synchronously: the next navigation builds on this one. With `replace`, without a history entry. */
export function go(address, { replace = false } = {}) {
  if (address === location.hash) return;
  history[replace ? "replaceState" : "pushState"](null, "", address);
  dispatchEvent(new HashChangeEvent("hashchange"));
}
