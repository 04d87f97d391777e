// Origins in plain words: who stated an entry, and which origins are trusted enough to replace it.

import { h } from "./dom.js";

const TRUSTED_LAST = ["user", "agent", "tool", "external"];
const SAID = { user: "Said by the user", agent: "Written by the agent", tool: "Reported by a tool", external: "From outside" };
const NOUN = { user: "the user said", agent: "the agent wrote", tool: "a tool reported", external: "came from outside" };

/** True if what has this origin may replace what has the other one. */
export const mayReplace = (origin, other) => TRUSTED_LAST.indexOf(origin) <= TRUSTED_LAST.indexOf(other);

/** Return what an origin did, after "what": "what a tool reported". */
export const what = (origin) => NOUN[origin] ?? origin;

/** Create the words for an origin; what came from a tool or from outside is marked. */
export function said(origin) {
  return h("span", { class: origin === "tool" || origin === "external" ? "badge outer" : null }, SAID[origin] ?? origin);
}
