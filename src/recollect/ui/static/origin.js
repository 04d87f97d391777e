// Origins in plain words: who stated an entry, and which origins are trusted enough to replace it.

import { h } from "./dom.js";
import { t } from "./texts.js";

const TRUSTED_LAST = ["user", "agent", "tool", "external"];
const known = (origin) => TRUSTED_LAST.includes(origin);

/** True if what has this origin may replace what has the other one. */
export const mayReplace = (origin, other) => TRUSTED_LAST.indexOf(origin) <= TRUSTED_LAST.indexOf(other);

/** Return what an origin did, after "what": "what a tool reported". */
export const originClause = (origin) => (known(origin) ? t(`origin.clause.${origin}`) : origin);

/** True if neither the user nor the agent stated it. */
export const isOuter = (origin) => origin === "tool" || origin === "external";

/** Create the words for an origin; what came from a tool or from outside is marked. Archives and chunks hold what many said. */
export const originWords = (origin, kind = "note") => h("span", { class: isOuter(origin) ? "badge outer" : null }, !known(origin) ? origin : kind === "note" ? t(`origin.said.${origin}`) : t(`origin.holds.${origin}`));
