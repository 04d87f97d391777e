// What happens elsewhere, as it happens. The browser reconnects by itself and says where it stopped; when it gives up, we do.

import { address, events as network } from "./api.js";

const KINDS = ["operation", "event", "reminder", "ping"];
const WAITS = [1_000, 2_000, 5_000, 10_000];
const SILENCE = 40_000; // milliseconds without a word, after which the line is lost: the server says something every 15 seconds
const PATIENCE = 1_000; // milliseconds until the page is shown although the feed has not begun

/**
 * Follow the feed of the chosen memory. `told(kind, data)` for each thing; `state("live" | "lost")` when that changes.
 *
 * Who waits for `beginning`, where there is one, misses nothing: the feed tells all that happens later. It does not last
 * for ever; a feed that begins after it tells "late", and what was read before must be read again.
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

  /** `refused()` is asked when the server does not let us in, before it is tried again; true when it saw to it. */
  constructor(told, state, refused) {
    this.told = told;
    this.onstate = state;
    this.refused = refused;
    // A page that nobody sees needs no connection of its own; browsers allow few per server.
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) this.#close();
      else if (this.#wanted) this.open();
    });
    network.addEventListener("unreachable", () => { if (this.#wanted) this.#become("lost"); });
  }

  /** Begin to follow, or follow another memory. */
  open({ anew = false } = {}) {
    this.#wanted = true;
    if (anew) this.#anew();
    this.#close();
    const source = (this.#source = new EventSource(address("/v1/feed", { after: this.#last })));
    this.#listen();
    source.onopen = () => { this.#tries = 0; this.#listen(); this.#become("live"); };
    source.onerror = async () => {
      this.#begins?.(); // it will not be soon
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
        if (first && !this.beginning) this.told("late", {});
        this.#become("live"); // also when a single request had failed and the line itself never did
        if (kind !== "ping") this.told(kind, JSON.parse(event.data));
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

  #anew() {
    this.#last = null;
    const beginning = (this.beginning = new Promise((resolve) => { this.#begins = resolve; setTimeout(resolve, PATIENCE); }));
    beginning.then(() => { if (this.beginning === beginning) this.beginning = null; });
  }

  #later() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.open(), WAITS[Math.min(this.#tries++, WAITS.length - 1)]);
  }

  /** A line may die without a word: who hears nothing for long begins anew. */
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
