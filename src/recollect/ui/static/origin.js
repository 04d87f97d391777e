// Origins in plain words: who stated an entry, and which origins are trusted enough to replace it.

import { h } from "./dom.js";

const TRUSTED_LAST = ["user", "agent", "tool", "external"];
const SAID = { user: "Said by the user", agent: "Stated by the agent", tool: "Reported by a tool", external: "From outside" };
const HOLDS = { user: "Said by the user", agent: "From a conversation", tool: "With results of tools", external: "With text from outside" };
const NOUN = { user: "the user said", agent: "the agent stated", tool: "a tool reported", external: "came from outside" };

/** True if what has this origin may replace what has the other one. */
export const mayReplace = (origin, other) => TRUSTED_LAST.indexOf(origin) <= TRUSTED_LAST.indexOf(other);

/** Return what an origin did, after "what": "what a tool reported". */
export const originClause = (origin) => NOUN[origin] ?? origin;

/** True if neither the user nor the agent stated it. */
export const isOuter = (origin) => origin === "tool" || origin === "external";

/** Create the words for an origin; what came from a tool or from outside is marked. Archives and chunks hold what many said. */
export const originWords = (origin, kind = "note") => h("span", { class: isOuter(origin) ? "badge outer" : null }, (kind === "note" ? SAID : HOLDS)[origin] ?? origin);
