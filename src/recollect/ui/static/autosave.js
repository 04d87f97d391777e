// For any chat page: keeps what is said in recollect while it is said.
//
//   <script src="http://127.0.0.1:8377/static/autosave.js"></script>
//   const saving = recollect.autosave({ agentId: "ana", chatId: "chat-7", messages: () => chat.messages });
//   …
//   await saving.close();   // the talk is over: hand-off, decisions and lessons are kept
//
// A message is {role: "user" | "agent", text, internal?}; {role: "assistant", content} works as well. Internal messages
// never leave the page. Every 30 seconds what is new is saved as a checkpoint, and once more when the page goes away.

(() => {
  const EVERY = 30_000;
  const BEACON = 60_000; // bytes that a browser surely sends from a page that goes away
  const home = new URL("../", document.currentScript.src);

  const spoken = (messages) => messages
    .map((one) => ({ role: one.role === "user" ? "user" : "agent", text: String(one.text ?? one.content ?? ""), internal: one.internal === true, skip: one.role === "system" || one.role === "tool" }))
    .filter((one) => !one.internal && !one.skip && one.text.trim())
    .map(({ role, text }) => ({ role, text }));

  /** Begin to save. Options: agentId, messages (a list, or a function that gives it), chatId, modelId, workspace, token,
      every (milliseconds), saved(answer), failed(error). Gives {save, close, recover, stop}. */
  function autosave({ agentId, messages, chatId, modelId, workspace, token, every = EVERY, saved = () => {}, failed = () => {} }) {
    let known = null, under = Promise.resolve(), over = false;
    const talk = () => spoken(typeof messages === "function" ? messages() : messages);
    const address = () => {
      const url = new URL("api/memory/checkpoint", home);
      if (workspace) url.searchParams.set("workspace", workspace);
      return url;
    };
    const headers = () => ({ "content-type": "application/json", ...(token && { authorization: `Bearer ${token}` }) });
    const body = (said, more = {}) => JSON.stringify({ agentId, messages: said, ...(chatId && { chatId }), ...(modelId && { modelId }), ...more });

    async function send(said, more) {
      const answer = await fetch(address(), { method: "POST", headers: headers(), body: body(said, more), credentials: "include" });
      if (!answer.ok) throw new Error((await answer.json().catch(() => ({}))).detail ?? `the server answered ${answer.status}`);
      return answer.json();
    }

    // One after the other: a slow answer must not be overtaken by the next one.
    function save(more = {}) {
      under = under.then(async () => {
        const said = talk(), state = JSON.stringify(said);
        if (!said.length || (state === known && !more.close)) return;
        try {
          const answer = await send(said, more);
          known = state;
          saved(answer);
        } catch (error) {
          failed(error); // it is tried again with the next one
          if (more.close) throw error;
        }
      });
      return under.catch((error) => { under = Promise.resolve(); throw error; });
    }

    function leaving() {
      const said = talk();
      if (over || !said.length || JSON.stringify(said) === known) return;
      let last = said;
      while (last.length > 1 && new Blob([body(last)]).size > BEACON) last = last.slice(Math.ceil(last.length / 4));
      // A beacon carries no token; with one, a request that outlives the page does the same.
      if (token) fetch(address(), { method: "POST", headers: headers(), body: body(last), keepalive: true, credentials: "include" }).catch(() => {});
      else navigator.sendBeacon(address(), new Blob([body(last)], { type: "application/json" }));
    }

    const timer = setInterval(() => save().catch(() => {}), every);
    const hidden = () => { if (document.visibilityState === "hidden") leaving(); };
    addEventListener("pagehide", leaving);
    document.addEventListener("visibilitychange", hidden);

    function stop() {
      over = true;
      clearInterval(timer);
      removeEventListener("pagehide", leaving);
      document.removeEventListener("visibilitychange", hidden);
    }

    return {
      /** Save now. */
      save: () => save(),
      /** The talk is over: save it, and let the server write the hand-off, the decisions and the lessons. */
      async close() {
        await save({ close: true });
        stop();
      },
      /** What the agent last said and heard, from the last seven days; null when there is nothing. */
      async recover() {
        const url = address();
        url.searchParams.set("agentId", agentId);
        const answer = await fetch(url, { headers: headers(), credentials: "include" });
        return answer.ok ? (await answer.json()).checkpoint : null;
      },
      stop,
    };
  }

  globalThis.recollect = { ...globalThis.recollect, autosave };
})();
