// Upkeep view: jobs, their runs with undo, growth of the memory, and health checks.

import { get, latest, may, page, post, who } from "../api.js";
import { button, failed, h, keepFocus, set, time, toast, waiting } from "../dom.js";
import { bars } from "../pictures.js";
import { href } from "../route.js";
import { mayTransfer, transferCard } from "./transfer.js";
import { number, span, t, textParts } from "../texts.js";

const EVERY = 20_000; // polling interval in milliseconds: the feed does not cover runs without changes
const DESCRIBED = ["checkpoints", "extract", "shelve", "chunk", "embed", "consolidate", "dream", "age", "retain", "reminders", "review", "reindex", "vacuum"];

export class UpkeepView {
  #newest = { stats: latest(), jobs: latest(), runs: latest() };

  constructor(root) {
    this.figures = h("section", { "aria-label": t("upkeep.figures") });
    this.table = h("div");
    this.dry = h("div");
    this.jobs = h("section", { class: "card", "aria-label": t("upkeep.jobs") }, h("h2", {}, t("upkeep.jobs")), this.table, this.dry);
    this.list = h("div");
    this.runs = h("section", { class: "card", "aria-label": t("upkeep.runs") }, h("h2", {}, t("upkeep.runs.title")), this.list);
    this.shown = new Map();
    this.health = h("section", { class: "card", "aria-label": t("upkeep.health") });
    const timer = setInterval(() => (this.jobs.isConnected ? document.hidden || this.refresh() : clearInterval(timer)), EVERY);
    set(root, h("div", { class: "page" }, h("h1", {}, t("nav.upkeep")), h("p", { class: "lead" }, t("upkeep.lead")), this.figures, mayTransfer() && transferCard(), this.jobs, this.runs, this.health));
    set(this.health, h("h2", {}, t("upkeep.health")), h("p", { class: "hint" }, t("upkeep.health.hint")), h("p", { class: "row" }, button(t("upkeep.check"), () => this.#check(false), { kind: "strong", "data-name": "check" })));
  }

  async update() { await this.refresh(); }

  async refresh(changes = []) {
    if (changes.length && changes.every((one) => one.conversation_id)) return;
    if (!may("admin") || !who.everybody) {
      for (const part of [this.jobs, this.runs, this.health]) part.hidden = true;
      return void set(this.figures, h("div", { class: "empty" }, h("p", {}, t("upkeep.adminOnly")),
        h("p", { class: "hint" }, textParts(may("admin") ? "upkeep.notAll" : "upkeep.mayOnly", { right: who.right, command: h("code", {}, "recollect token create NAME --right admin") }))));
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
        h("thead", {}, h("tr", {}, [t("upkeep.job"), t("upkeep.every"), t("upkeep.last"), t("upkeep.next")].map((name) => h("th", { scope: "col" }, name)), h("th", { scope: "col" }, h("span", { class: "unseen" }, t("upkeep.run"))))),
        h("tbody", {}, jobs.map((job) => this.#job(job))))) : h("p", { class: "hint" }, t("upkeep.noJobs"))));
    } catch (error) {
      this.#failed(this.table, error, () => this.#jobs());
    }
  }

  #job(job) {
    const run = (dry) => (event) => keepFocus(this.jobs, async () => {
      event.target.disabled = true;
      try {
        const done = await post(`/v1/jobs/${encodeURIComponent(job.name)}/run`, { dry_run: dry, workspace: job.workspace });
        if (dry) this.#announce(done);
        else toast(done.skipped ? t("upkeep.busy", { job: job.name }) : `${job.name}: ${did(done)}`, done.changes.length && !done.error && who.everywhere ? { undo: () => this.#undo(done) } : {});
        await Promise.all([this.#jobs(), this.#runs()]);
      } catch (error) {
        toast(error.message, { bad: true });
      } finally {
        event.target.disabled = false;
      }
    });
    return h("tr", {}, h("th", { scope: "row" }, job.name, h("span", { class: "hint" }, DESCRIBED.includes(job.name) && t(`upkeep.does.${job.name}`))), h("td", {}, job.scheduled ? span(job.every) : t("upkeep.whenAsked")),
      h("td", {}, job.last_run_at ? time(job.last_run_at) : t("entry.never"), job.failures > 0 && h("span", { class: "problem" }, t("upkeep.failed", { count: job.failures, error: job.error })), job.running && h("span", { class: "badge" }, t("upkeep.running"))),
      h("td", {}, job.scheduled && job.next_due_at ? (job.due ? t("upkeep.due") : time(job.next_due_at)) : ""),
      h("td", { class: "row end" }, button(t("upkeep.dryRun"), run(true), { kind: "small", "aria-label": t("upkeep.dryRunOf", { job: job.name }) }), button(t("upkeep.run"), run(false), { kind: "small", "aria-label": t("upkeep.runOf", { job: job.name }) })));
  }

  #announce(run) {
    set(this.dry, h("div", { class: "dry", role: "status", tabindex: -1 }, h("h3", {}, t("upkeep.aDryRun", { job: run.job })), h("p", {}, run.changes.length ? t("upkeep.would", { what: did(run) }) : t("upkeep.wouldNothing")), changes(run)));
    this.dry.firstElementChild.focus();
  }

  async #runs() {
    if (!who.everywhere) return;
    try {
      const newest = await this.#newest.runs((signal) => get("/v1/runs", { limit: 30 }, signal));
      if (!newest) return;
      const found = page(newest).items;
      this.#put(this.list, found, () => (found.length ? h("ol", { class: "runs" }, found.map((run) => this.#run(run))) : h("p", { class: "hint" }, t("upkeep.noRuns"))));
    } catch (error) {
      this.#failed(this.list, error, () => this.#runs());
    }
  }

  #run(run) {
    const said = [h("strong", {}, run.job), " ", time(run.started_at), ": ", run.error ? h("span", { class: "problem" }, run.error) : did(run), run.undone_at && h("span", { class: "badge" }, t("upkeep.undone"))];
    if (!run.changes.length && !run.problems.length) return h("li", { class: "plain" }, said);
    return h("li", {}, h("details", { "data-id": run.id }, h("summary", {}, said),
      changes(run), run.problems.map((text) => h("p", { class: "problem" }, text)),
      run.changes.length > 0 && !run.undone_at && button(t("upkeep.undo"), () => this.#undo(run), { kind: "small" })));
  }

  async #undo(run) {
    try {
      await post(`/v1/runs/${encodeURIComponent(run.id)}/undo`);
      toast(t("upkeep.undoneOf", { job: run.job }));
    } catch (error) {
      toast(error.message, { bad: true });
    }
    await Promise.all([this.#jobs(), this.#runs()]);
  }

  #check(repair) {
    return keepFocus(this.health, () => this.#checked(repair));
  }

  async #checked(repair) {
    set(this.health, h("h2", {}, t("upkeep.health")), waiting(t("upkeep.checking")));
    try {
      const report = await post("/v1/check", { repair }, { reads: !repair, limit: 0 });
      set(this.health, h("h2", {}, t("upkeep.health")), h("p", { class: report.ok ? "good" : "problem", role: "status" }, t(report.ok ? "upkeep.well" : "upkeep.findings", { count: report.findings.length, counts: counts(report) })),
        report.findings.length > 0 && h("ul", {}, report.findings.map((one) => h("li", {}, textParts("upkeep.finding", { part: h("strong", {}, one.part), where: one.where, message: one.message }), one.repaired && h("span", { class: "badge" }, t("upkeep.repaired"))))),
        h("p", { class: "row" }, button(t("upkeep.checkAgain"), () => this.#check(false), { "data-name": "check" }), !report.ok && button(t("upkeep.repair"), () => this.#check(true), { kind: "strong" })));
    } catch (error) {
      set(this.health, h("h2", {}, t("upkeep.health")), failed(error, () => this.#check(repair)));
    }
  }
}

const CHANGES = ["added", "removed", "changed"];

/** Describe what a check examined. */
const counts = ({ entries, operations, events }) => t("upkeep.counts", { entries: t("memory.count.entries", { count: entries }), operations: t("upkeep.operations", { count: operations }), events: t("upkeep.events", { count: events }) });

/** Summarise what a run did. */
function did(run) {
  const figures = Object.entries(run.figures).filter(([, value]) => value).map(([name, value]) => `${name.replaceAll("_", " ")} ${number(value)}`);
  return figures.join(", ") || (run.changes.length ? t("entry.changes", { count: run.changes.length }) : t("upkeep.nothingToDo"));
}

function changes(run) {
  return run.changes.length > 0 && h("ul", { class: "changes" }, run.changes.slice(0, 200).map((one) => h("li", {}, h("span", { class: `badge ${one.what}` }, CHANGES.includes(one.what) ? t(`upkeep.change.${one.what}`) : one.what), " ",
    one.what === "removed" ? h("strong", {}, one.label) : h("a", { href: href(["memory", one.entry_id]) }, one.label), h("span", { class: "hint" }, ` ${one.reason}`))),
    run.changes.length > 200 && h("li", { class: "hint" }, t("upkeep.moreChanges", { number: run.changes.length - 200 })));
}

function figures(stats) {
  const mine = stats.agents.find((one) => one.workspace === who.workspace && one.agent === who.agent);
  if (!mine) return h("p", { class: "hint" }, t("upkeep.nothingYet"));
  const sum = (counts) => Object.values(counts).reduce((all, one) => all + one, 0);
  const numbers = [[t("memory.entries"), mine.entries], [t("nav.conversations"), sum(mine.conversations)], [t("upkeep.said"), mine.events], [t("upkeep.vectors"), mine.vectors], [t("upkeep.inTrash"), mine.trash], [t("upkeep.onDisk"), size(stats.bytes)]];
  return [
    h("dl", { class: "numbers" }, numbers.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, typeof value === "number" ? number(value) : value)))),
    h("p", { class: "hint" }, t("upkeep.figures.hint")),
    h("div", { class: "charts" },
      h("div", { class: "card" }, bars(mine.entries_by_day ?? [], { title: t("upkeep.writtenByDay"), counted: (count) => t("memory.count.entries", { count }) })),
      h("div", { class: "card" }, bars(mine.recalls_by_day ?? [], { title: t("upkeep.recalledByDay"), counted: (count) => t("pictures.recalls", { count }) }))),
  ];
}

/** Format a number of bytes. */
export function size(bytes) {
  for (const [unit, one] of [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]]) if (bytes >= one) return `${number(bytes / one, 1)} ${unit}`;
  return `${number(bytes)} B`;
}
