// Upkeep view: jobs, their runs with undo, growth of the memory, and health checks.

import { get, latest, may, page, post, who } from "../api.js";
import { button, failed, h, keepFocus, many, number, set, span, time, toast, waiting } from "../dom.js";
import { bars } from "../pictures.js";
import { href } from "../route.js";

const EVERY = 20_000; // polling interval in milliseconds: the feed does not cover runs without changes
const DOES = {
  checkpoints: "removes checkpoints that are too old", extract: "keeps decisions and lessons of conversations", shelve: "makes one summary of many old notes",
  embed: "makes vectors that are missing", consolidate: "promotes, merges and prunes short-term notes", dream: "lets what matters grow into MEMORY.md",
  age: "moves old conversations to long-term memory", retain: "empties what is past its time from the trash", reminders: "delivers what is due",
  review: "proposes notes that may not both hold", reindex: "compares the index with the entries", vacuum: "gives back free room",
};

export class UpkeepView {
  #newest = { stats: latest(), jobs: latest(), runs: latest() };

  constructor(root) {
    this.figures = h("section", { "aria-label": "Figures" });
    this.table = h("div");
    this.dry = h("div");
    this.jobs = h("section", { class: "card", "aria-label": "Jobs" }, h("h2", {}, "Jobs"), this.table, this.dry);
    this.list = h("div");
    this.runs = h("section", { class: "card", "aria-label": "Runs" }, h("h2", {}, "What runs did"), this.list);
    this.shown = new Map();
    this.health = h("section", { class: "card", "aria-label": "Health" });
    const timer = setInterval(() => (this.jobs.isConnected ? document.hidden || this.refresh() : clearInterval(timer)), EVERY);
    set(root, h("div", { class: "page" }, h("h1", {}, "Upkeep"), h("p", { class: "lead" }, "What happens in the background, what it did, and whether everything is in good order."), this.figures, this.jobs, this.runs, this.health));
    set(this.health, h("h2", {}, "Health"), h("p", { class: "hint" }, "Compares files, entries, names, log and index. On a large memory it takes a while."), h("p", { class: "row" }, button("Check now", () => this.#check(false), { kind: "strong", "data-name": "check" })));
  }

  async update() { await this.refresh(); }

  async refresh(changes = []) {
    if (changes.length && changes.every((one) => one.conversation_id)) return;
    if (!may("admin") || !who.everybody) {
      for (const part of [this.jobs, this.runs, this.health]) part.hidden = true;
      return void set(this.figures, h("div", { class: "empty" }, h("p", {}, "Upkeep is for tokens with the right “admin”."),
        h("p", { class: "hint" }, `This one ${may("admin") ? "is not for all agents" : `may ${who.right}`}. On the server's machine, `, h("code", {}, "recollect token create NAME --right admin"), " makes one that may do this, too.")));
    }
    this.runs.hidden = this.health.hidden = !who.everywhere; // they cover all workspaces
    await Promise.all([this.#stats(), this.#jobs(), this.#runs()]);
  }

  /** Draw a value unless it is unchanged: a control that the user is about to press must not be replaced. */
  #put(place, value, draw) {
    const text = JSON.stringify(value);
    if (this.shown.get(place) === text) return;
    this.shown.set(place, text);
    const open = new Set([...place.querySelectorAll("details[open]")].map((one) => one.dataset.id));
    keepFocus(place.closest("section"), () => {
      set(place, draw(value));
      for (const one of place.querySelectorAll("details")) one.open = open.has(one.dataset.id);
    });
  }

  #failed(place, error, again) {
    if (error.status === 0 && this.shown.has(place)) return; // the frame reports it; keep the content until the server is back
    this.shown.delete(place);
    set(place, failed(error, again));
  }

  async #stats() {
    try {
      const found = await this.#newest.stats((signal) => get("/v1/stats", {}, signal));
      if (found) this.#put(this.figures, found, figures);
    } catch (error) {
      this.#failed(this.figures, error, () => this.#stats());
    }
  }

  async #jobs() {
    try {
      const found = await this.#newest.jobs((signal) => get("/v1/jobs", {}, signal));
      if (!found) return;
      const all = page(found).items.map((job) => ({ ...job, due: job.next_due_at <= Date.now() })), here = all.filter((job) => job.workspace === who.workspace);
      this.#put(this.table, here.length ? here : all, (jobs) => (jobs.length ? h("div", { class: "scrolls", tabindex: 0 }, h("table", { class: "jobs" },
        h("thead", {}, h("tr", {}, ["Job", "Every", "Last run", "Next run", ""].map((name) => h("th", { scope: "col" }, name)))),
        h("tbody", {}, jobs.map((job) => this.#job(job))))) : h("p", { class: "hint" }, "There is nothing to keep up yet.")));
    } catch (error) {
      this.#failed(this.table, error, () => this.#jobs());
    }
  }

  #job(job) {
    const run = (dry) => (event) => keepFocus(this.jobs, async () => {
      event.target.disabled = true;
      try {
        const done = await post(`/v1/jobs/${encodeURIComponent(job.name)}/run`, { dry_run: dry, workspace: job.workspace });
        if (dry) this.#tell(done);
        else toast(done.skipped ? `Another process is at ${job.name} already.` : `${job.name}: ${did(done)}`, done.changes.length && !done.error && who.everywhere ? { undo: () => this.#undo(done) } : {});
        await Promise.all([this.#jobs(), this.#runs()]);
      } catch (error) {
        toast(error.message, { bad: true });
      } finally {
        event.target.disabled = false;
      }
    });
    return h("tr", {}, h("th", { scope: "row" }, job.name, h("span", { class: "hint" }, DOES[job.name])), h("td", {}, job.scheduled ? span(job.every) : "when asked"),
      h("td", {}, job.last_run_at ? time(job.last_run_at) : "never", job.failures > 0 && h("span", { class: "problem" }, ` failed ${many(job.failures, "time", "times")}: ${job.error}`), job.running && h("span", { class: "badge" }, "running")),
      h("td", {}, job.scheduled && job.next_due_at ? (job.due ? "due" : time(job.next_due_at)) : ""),
      h("td", { class: "row end" }, button("Dry run", run(true), { kind: "small", "aria-label": `Dry run of ${job.name}` }), button("Run", run(false), { kind: "small", "aria-label": `Run ${job.name}` })));
  }

  #tell(run) {
    set(this.dry, h("div", { class: "dry", role: "status", tabindex: -1 }, h("h3", {}, `A dry run of ${run.job}`), h("p", {}, run.changes.length ? `It would do this: ${did(run)}` : "It would change nothing."), changes(run)));
    this.dry.firstElementChild.focus();
  }

  async #runs() {
    if (!who.everywhere) return;
    try {
      const newest = await this.#newest.runs((signal) => get("/v1/runs", { limit: 30 }, signal));
      if (!newest) return;
      const found = page(newest).items;
      this.#put(this.list, found, () => (found.length ? h("ol", { class: "runs" }, found.map((run) => this.#run(run))) : h("p", { class: "hint" }, "No run has changed anything yet.")));
    } catch (error) {
      this.#failed(this.list, error, () => this.#runs());
    }
  }

  #run(run) {
    const said = [h("strong", {}, run.job), " ", time(run.started_at), ": ", run.error ? h("span", { class: "problem" }, run.error) : did(run), run.undone_at && h("span", { class: "badge" }, "undone")];
    if (!run.changes.length && !run.problems.length) return h("li", { class: "plain" }, said);
    return h("li", {}, h("details", { "data-id": run.id }, h("summary", {}, said),
      changes(run), run.problems.map((text) => h("p", { class: "problem" }, text)),
      run.changes.length > 0 && !run.undone_at && button("Undo this run", () => this.#undo(run), { kind: "small" })));
  }

  async #undo(run) {
    try {
      await post(`/v1/runs/${encodeURIComponent(run.id)}/undo`);
      toast(`The run of ${run.job} was undone.`);
    } catch (error) {
      toast(error.message, { bad: true });
    }
    await Promise.all([this.#jobs(), this.#runs()]);
  }

  #check(repair) {
    return keepFocus(this.health, () => this.#checked(repair));
  }

  async #checked(repair) {
    set(this.health, h("h2", {}, "Health"), waiting("Checking…"));
    try {
      const report = await post("/v1/check", { repair }, { reads: !repair, limit: 0 });
      set(this.health, h("h2", {}, "Health"), h("p", { class: report.ok ? "good" : "problem", role: "status" }, report.ok ? "All is well: " : `${many(report.findings.length, "finding", "findings")}: `,
        `${many(report.entries, "entry", "entries")}, ${many(report.operations, "operation", "operations")}, ${many(report.events, "event", "events")} of conversations.`),
        report.findings.length > 0 && h("ul", {}, report.findings.map((one) => h("li", {}, h("strong", {}, one.part), ` in ${one.where}: ${one.message}`, one.repaired && h("span", { class: "badge" }, "repaired")))),
        h("p", { class: "row" }, button("Check again", () => this.#check(false), { "data-name": "check" }), !report.ok && button("Repair what is derived", () => this.#check(true), { kind: "strong" })));
    } catch (error) {
      set(this.health, h("h2", {}, "Health"), failed(error, () => this.#check(repair)));
    }
  }
}

const PAST = { added: "added", removed: "removed", changed: "changed" };

/** Summarise what a run did. */
function did(run) {
  const figures = Object.entries(run.figures).filter(([, value]) => value).map(([name, value]) => `${name.replaceAll("_", " ")} ${number(value)}`);
  return figures.join(", ") || (run.changes.length ? many(run.changes.length, "change", "changes") : "nothing to do");
}

function changes(run) {
  return run.changes.length > 0 && h("ul", { class: "changes" }, run.changes.slice(0, 200).map((one) => h("li", {}, h("span", { class: `badge ${one.what}` }, PAST[one.what] ?? one.what), " ",
    one.what === "removed" ? h("strong", {}, one.label) : h("a", { href: href(["memory", one.entry_id]) }, one.label), h("span", { class: "hint" }, ` ${one.reason}`))),
    run.changes.length > 200 && h("li", { class: "hint" }, `and ${number(run.changes.length - 200)} more`));
}

function figures(stats) {
  const mine = stats.agents.find((one) => one.workspace === who.workspace && one.agent === who.agent);
  if (!mine) return h("p", { class: "hint" }, "This agent remembers nothing yet.");
  const sum = (counts) => Object.values(counts).reduce((all, one) => all + one, 0);
  const numbers = [["Entries", mine.entries], ["Conversations", sum(mine.conversations)], ["Things said", mine.events], ["With a vector", mine.vectors], ["In the trash", mine.trash], ["On disk", size(stats.bytes)]];
  return [
    h("dl", { class: "numbers" }, numbers.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, typeof value === "number" ? number(value) : value)))),
    h("p", { class: "hint" }, "What this agent has in this workspace. Where its account is a store of its own, what is in there is not counted here."),
    h("div", { class: "charts" },
      h("div", { class: "card" }, bars(mine.entries_by_day ?? [], { title: "Entries written a day", unit: "entry", units: "entries" })),
      h("div", { class: "card" }, bars(mine.recalls_by_day ?? [], { title: "Entries recalled a day", unit: "recall", units: "recalls" }))),
  ];
}

function size(bytes) {
  for (const [unit, one] of [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]]) if (bytes >= one) return `${number(bytes / one, 1)} ${unit}`;
  return `${number(bytes)} B`;
}
