// For any chat page: keeps what is said in recollect while it is said.
//
//   <script crossorigin src="http://127.0.0.1:8377/static/autosave.js"></script>
//   const saving = recollect.autosave({ agentId: "ana", chatId: "chat-7", messages: () => chat.messages });
//   …
//   await saving.close();   // the talk is over: hand-off, decisions and lessons are kept
//
// A message is {role: "user" | "agent", text, internal?}; {role: "assistant", content} works as well, also with a list of
// parts. Other roles, and internal messages, never leave the page. What is new is saved as a checkpoint: at the start,
// every 30 seconds, and once more when the page goes away.

(() => {
  const EVERY = 30_000;
  const LIMIT = 30_000; // milliseconds after which an answer is not waited for any more; four times that where the server writes the hand-off
  const BEACON = 60_000; // bytes that a browser surely sends from a page that goes away
  const home = new URL("../", document.currentScript.src);

  const ROLES = { user: "user", agent: "agent", assistant: "agent" };
  const size = (text) => new Blob([text]).size;

  /** The words of a message: a text, or those of its parts that are text. */
  const words = (content) => [content].flat().map((part) => (/text$/.test(part?.type ?? "text") ? part?.text ?? part : null))
    .filter((text) => text && typeof text === "string").join("\n");

  const spoken = (messages) => messages
    .filter((one) => Object.hasOwn(ROLES, one.role) && one.internal !== true)
    .map((one) => ({ role: ROLES[one.role], text: words(one.text ?? one.content) }))
    .filter((one) => one.text.trim());

  /** Begin to save. Options: agentId, messages (a list, or a function that gives it), chatId, modelId, workspace, token,
      every (milliseconds), saved(answer), failed(error). Gives {save, close, recover, stop}. */
  function autosave({ agentId, messages, chatId, modelId, workspace, token, every = EVERY, saved = () => {}, failed = () => {} }) {
    let known = [], sent = "", under = Promise.resolve(), closed = false;
    const talk = () => spoken((typeof messages === "function" ? messages() : messages) ?? []);
    const address = () => {
      const url = new URL("api/memory/checkpoint", home);
      if (workspace) url.searchParams.set("workspace", workspace);
      return url;
    };
    const headers = () => ({ "content-type": "application/json", ...(token && { authorization: `Bearer ${token}` }) });
    const body = (said, more = {}) => JSON.stringify({ agentId, messages: said, ...(chatId && { chatId }), ...(modelId && { modelId }), ...more });

    const same = (one, other) => one.role === other?.role && one.text === other.text;
    const isNew = (said) => said.length !== known.length || !said.every((one, place) => same(one, known[place]));

    // Cookies go to the page's own server only; elsewhere it is the token that counts.
    async function ask(url, more, limit = LIMIT) {
      const late = new AbortController(), timer = setTimeout(() => late.abort(new Error("the server does not answer")), limit);
      try {
        const answer = await fetch(url, { headers: headers(), credentials: "same-origin", signal: late.signal, ...more });
        if (!answer.ok) throw new Error((await answer.json().catch(() => ({}))).detail ?? `the server answered ${answer.status}`);
        return await answer.json();
      } finally {
        clearTimeout(timer);
      }
    }

    // One after the other: a slow answer must not be overtaken by the next one. It is the whole talk that is sent, as
    // the server then knows for sure what is new in it.
    function save(more = {}) {
      const done = under.then(async () => {
        try {
          const said = talk();
          if (!said.length || (!isNew(said) && (closed || !more.close))) return null;
          const answer = await ask(address(), { method: "POST", body: body(said, more) }, more.close ? 4 * LIMIT : LIMIT);
          known = said;
          saved(answer);
          return answer;
        } catch (error) {
          failed(error); // it is tried again with the next one
          if (more.close) throw error;
          return null;
        }
      });
      under = done.catch(() => {});
      return done;
    }

    /** What a page that goes away can still send: all, or the oldest that are not saved yet, as many as fit. They begin
        at a message that was said once only, so that the server finds their place; else nothing can be sent. */
    function last(said) {
      const sizes = said.map((one) => size(JSON.stringify(one)) + 1);
      let room = BEACON - size(body([]));
      if (sizes.reduce((sum, one) => sum + one, 0) <= room) return said;
      const changed = known.findIndex((one, place) => !same(one, said[place]));
      const fresh = changed < 0 ? known.length : changed;
      const once = (one) => said.filter((other) => same(one, other)).length === 1;
      let from = fresh, to = fresh;
      if (changed > 0 && known.some((one) => same(one, said[changed]))) return [];
      if (changed < 0) while (from > 0 && !once(said[--from])) { /* further back */ }
      for (let place = from; place < fresh; place++) room -= sizes[place];
      while (to < said.length && sizes[to] <= room) room -= sizes[to++];
      return to > fresh ? said.slice(from, to) : [];
    }

    function leaving() {
      const said = talk();
      if (!isNew(said)) return;
      const fitting = last(said), text = body(fitting);
      if (text === sent) return; // a page goes away in several steps, and each of them tells
      sent = text;
      if (fitting.at(-1) !== said.at(-1)) save(); // which gets through when the page is merely hidden
      if (!fitting.length) return;
      // A beacon carries no token, and none goes to another origin; there a request that outlives the page does the same.
      if (token || home.origin !== location.origin) ask(address(), { method: "POST", body: text, keepalive: true }).catch(() => {});
      else navigator.sendBeacon(address(), new Blob([text], { type: "application/json" }));
    }

    save();
    const timer = setInterval(() => save(), every);
    const hidden = () => { if (document.visibilityState === "hidden") leaving(); };
    addEventListener("pagehide", leaving);
    document.addEventListener("visibilitychange", hidden);

    function stop() {
      clearInterval(timer);
      removeEventListener("pagehide", leaving);
      document.removeEventListener("visibilitychange", hidden);
    }

    return {
      /** Save now. */
      save: () => save(),
      /** The talk is over: save it, and let the server write the hand-off, the decisions and the lessons. Rejected when
          it cannot be saved, and when there is no hand-off because somebody else ended it, or set it idle. */
      async close() {
        const answer = await save({ close: true });
        closed ||= answer?.closed === true;
        if (answer && !closed) throw new Error("the talk is saved, but without a hand-off: it was ended, archived or set idle elsewhere before");
        stop();
      },
      /** What the agent last said and heard, from the last seven days; null when there is nothing. */
      async recover() {
        const url = address();
        url.searchParams.set("agentId", agentId);
        return (await ask(url)).checkpoint;
      },
      stop,
    };
  }

  globalThis.recollect = { ...globalThis.recollect, autosave };
})();
