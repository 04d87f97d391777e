// Autosave for any chat page: saves the conversation to recollect while it goes on.
//
//   <script crossorigin src="http://127.0.0.1:8377/static/autosave.js"></script>
//   const saving = recollect.autosave({ agentId: "ana", chatId: "chat-7", messages: () => chat.messages });
//   …
//   await saving.close();   // end of the conversation: hand-off, decisions and lessons are extracted
//
// A message is {role: "user" | "agent", text, internal?}; {role: "assistant", content} works as well, also with a list of
// parts. Other roles and internal messages are never sent. New messages are saved as a checkpoint: at the start, every
// 30 seconds, and when the page is hidden or closed.

(() => {
  const EVERY = 30_000;
  const LIMIT = 30_000; // request timeout in milliseconds; four times that when the server writes the hand-off
  const BEACON = 60_000; // bytes that every browser sends from a closing page
  const home = new URL("../", document.currentScript.src);

  const ROLES = { user: "user", agent: "agent", assistant: "agent" };
  const size = (text) => new Blob([text]).size;

  /** Return the text of a message: a string, or its text parts joined. */
  const words = (content) => [content].flat().map((part) => (/text$/.test(part?.type ?? "text") ? part?.text ?? part : null))
    .filter((text) => text && typeof text === "string").join("\n");

  const spoken = (messages) => messages
    .filter((one) => Object.hasOwn(ROLES, one.role) && one.internal !== true)
    .map((one) => ({ role: ROLES[one.role], text: words(one.text ?? one.content) }))
    .filter((one) => one.text.trim());

  /** Start saving. Options: agentId, messages (a list, or a function that returns it), chatId, modelId, workspace, token,
      every (milliseconds), saved(answer), failed(error). Returns {save, close, recover, stop}. */
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

    // Cookies are sent to the page's own origin only; other origins need the token.
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

    // Requests are serialised: a later one must not overtake a slow one. The whole conversation is sent, so that the
    // server can determine reliably which messages are new.
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
          failed(error); // retried with the next save
          if (more.close) throw error;
          return null;
        }
      });
      under = done.catch(() => {});
      return done;
    }

    /** Return the messages that a closing page can still send: all, or the oldest unsaved ones that fit. They start at a
        message that occurs only once, so that the server can locate them; otherwise nothing can be sent. */
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
      if (text === sent) return; // closing a page fires several events
      sent = text;
      if (fitting.at(-1) !== said.at(-1)) save(); // succeeds if the page is only hidden
      if (!fitting.length) return;
      // A beacon cannot carry a token or go to another origin; use a keepalive request there.
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
      /** End the conversation: save it and have the server write hand-off, decisions and lessons. Rejects if it cannot be
          saved, or if there is no hand-off because it was ended, archived or set idle elsewhere. */
      async close() {
        const answer = await save({ close: true });
        closed ||= answer?.closed === true;
        if (answer && !closed) throw new Error("the talk is saved, but without a hand-off: it was ended, archived or set idle elsewhere before");
        stop();
      },
      /** Return the agent's last checkpoint of the past seven days; null if there is none. */
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
