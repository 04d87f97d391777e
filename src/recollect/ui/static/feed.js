// Live feed of changes (server-sent events). The browser reconnects and resumes by itself; when it gives up, this does.

import { address, events as network } from "./api.js";

const KINDS = ["operation", "event", "reminder", "review", "ping"];
const WAITS = [1_000, 2_000, 5_000, 10_000];
const SILENCE = 40_000; // milliseconds without an event after which the connection counts as lost: the server pings every 15 seconds
const PATIENCE = 1_000; // milliseconds to wait for the feed before the page is shown without it

/**
 * Follow the feed of the selected memory. Calls `received(kind, data)` per event and `state("live" | "lost")` on changes.
 *
 * A reader that awaits `beginning`, if set, misses no change: the feed delivers everything that happens later. It times
 * out; a feed that starts after the timeout sends "late", and data that was read before must be read again.
 */
export class Feed {
  #source = null;
  #timer = null;
  #tries = 0;
  #last = null;
  #state = "new";
  #wanted = false;
  #begins = null;
  beginning = null;

  /** `refused()` is called when the server rejects the connection, before the retry; resolves to true if it handled that. */
  constructor(received, state, refused) {
    this.received = received;
    this.onstate = state;
    this.refused = refused;
    // Disconnect hidden pages: browsers allow few connections per server.
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) this.#close();
      else if (this.#wanted) this.open();
    });
    network.addEventListener("unreachable", () => { if (this.#wanted) this.#become("lost"); });
  }

  /** Connect, or with `restart` follow another memory from now on. */
  open({ restart = false } = {}) {
    this.#wanted = true;
    if (restart) this.#restart();
    this.#close();
    const source = (this.#source = new EventSource(address("/v1/feed", { after: this.#last })));
    this.#listen();
    source.onopen = () => { this.#tries = 0; this.#listen(); this.#become("live"); };
    source.onerror = async () => {
      this.#begins?.(); // do not keep readers waiting for the reconnect
      if (source.readyState !== EventSource.CLOSED) return this.#become("lost");
      this.#later();
      if (!(await this.refused()) && this.#source === source) this.#become("lost");
    };
    for (const kind of KINDS) {
      source.addEventListener(kind, (event) => {
        this.#listen();
        const first = this.#last === null;
        this.#last = event.lastEventId || this.#last;
        this.#begins?.();
        if (first && !this.beginning) this.received("late", {});
        this.#become("live"); // also after a failed request that did not affect the feed's connection
        if (kind !== "ping") this.received(kind, JSON.parse(event.data));
      });
    }
  }

  close() {
    this.#wanted = false;
    this.#close();
    this.#state = "new";
  }

  #close() {
    clearTimeout(this.#timer);
    this.#source?.close();
    this.#source = null;
  }

  #restart() {
    this.#last = null;
    const beginning = (this.beginning = new Promise((resolve) => { this.#begins = resolve; setTimeout(resolve, PATIENCE); }));
    beginning.then(() => { if (this.beginning === beginning) this.beginning = null; });
  }

  #later() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.open(), WAITS[Math.min(this.#tries++, WAITS.length - 1)]);
  }

  /** Restart the watchdog: a connection may die silently, so reconnect after a long silence. */
  #listen() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => { this.#become("lost"); this.open(); }, SILENCE);
  }

  #become(state) {
    if (state === this.#state) return;
    const before = this.#state;
    this.#state = state;
    this.onstate(state, before);
  }
}
