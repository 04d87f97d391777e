// Addresses of views: everything that is seen can be linked to, and the back button goes where one was.

import { who } from "./api.js";

/** The memory that is shown when an address names none. */
export const standard = { workspace: null, agent: null };

/** Read an address: #/view/part/part?key=value */
export function read(hash = location.hash) {
  const [path, search = ""] = hash.replace(/^#\/?/, "").split("?");
  const [view, ...parts] = path.split("/").map(decoded);
  return { view: view || "memory", parts, query: Object.fromEntries(new URLSearchParams(search)) };
}

function decoded(part) {
  try { return decodeURIComponent(part); } catch { return part; }
}

/** An address; empty values are left out, and the memory is named when it is not the usual one. */
export function href(parts, query = {}) {
  const search = new URLSearchParams();
  const where = Object.fromEntries(["workspace", "agent"].map((key) => [key, who[key] !== standard[key] ? who[key] : null]));
  for (const [key, value] of Object.entries({ ...where, ...query })) if (value) search.set(key, value);
  const text = search.toString();
  return `#/${[parts].flat().map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
}

/** Go there, at once: what is chosen next builds on it. With `replace` without a step for the back button. */
export function go(address, { replace = false } = {}) {
  if (address === location.hash) return;
  history[replace ? "replaceState" : "pushState"](null, "", address);
  dispatchEvent(new HashChangeEvent("hashchange"));
}
