// HTTP client; no other module sends requests, except feed.js and autosave.js. Errors are raised as Problem.

import { t } from "./texts.js";

/** The memory that the page shows; sent with every request. `right` is the caller's right, `login` counts login prompts. */
export const who = { workspace: null, agent: null, right: "admin", login: 0 };

export const may = (right) => ["read", "write", "admin"].indexOf(who.right) >= ["read", "write", "admin"].indexOf(right);

/** A failed request. `status` is 0 if the server could not be reached. */
export class Problem extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

export const events = new EventTarget();

const LIMIT = 30_000; // timeout of reads, in milliseconds

/** Return the URL of a route with its query parameters; empty ones are omitted. */
export function address(path, query = {}) {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries({ workspace: who.workspace, agent: who.agent, ...query })) {
    for (const one of [value].flat()) if (one !== null && one !== undefined && one !== "") search.append(name, one);
  }
  const text = search.toString();
  return text ? `${path}?${text}` : path;
}

/** Send a request. Returns {body, etag, location}; throws a Problem, or an AbortError if the signal aborts. Writes have no timeout. */
export async function ask(method, path, { query, body, signal, etag, reads = method === "GET", limit = reads ? LIMIT : 0 } = {}) {
  const headers = { accept: "application/json" };
  if (body !== undefined) headers["content-type"] = "application/json";
  if (etag) headers["if-match"] = etag;
  const login = who.login, late = new AbortController(), timer = limit && setTimeout(() => late.abort(), limit);
  let answer, read;
  try {
    answer = await fetch(address(path, query), {
      method, headers, body: body === undefined ? undefined : JSON.stringify(body), credentials: "same-origin",
      signal: signal ? AbortSignal.any([signal, late.signal]) : late.signal,
    });
    const type = answer.headers.get("content-type") ?? "";
    read = answer.status === 204 ? null : await (type.includes("json") ? answer.json() : answer.text());
    if (answer.ok && typeof read === "string") throw new Error("not an answer of recollect"); // e.g. the login page of a proxy
  } catch (error) {
    if (signal?.aborted) throw error;
    events.dispatchEvent(new Event("unreachable"));
    throw new Problem(0, t(reads ? "api.away" : "api.undone"));
  } finally {
    clearTimeout(timer);
  }
  if (!answer.ok) {
    if (answer.status === 401 && login === who.login) events.dispatchEvent(new Event("login"));
    throw new Problem(answer.status, read?.detail ?? t("api.status", { status: answer.status }));
  }
  if (!reads) events.dispatchEvent(new Event("changed"));
  return { body: read, etag: answer.headers.get("etag"), location: answer.headers.get("location") };
}

/** Send a file as the body of a request, which `fetch` cannot report the progress of. Returns the answer's body; throws as `ask` does. */
export function upload(path, { file, query, signal, reads = false, progress }) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest(), login = who.login;
    const away = () => { events.dispatchEvent(new Event("unreachable")); reject(new Problem(0, t(reads ? "api.away" : "api.undone"))); };
    request.open("POST", address(path, query));
    request.responseType = "json";
    request.setRequestHeader("accept", "application/json");
    request.setRequestHeader("content-type", "application/octet-stream");
    request.upload.onprogress = (event) => { if (event.lengthComputable) progress(event.loaded / Math.max(1, event.total)); };
    request.upload.onload = () => progress(1);
    request.onerror = away;
    request.onabort = () => reject(new DOMException("aborted", "AbortError"));
    request.onload = () => {
      const { status, response } = request;
      if (status >= 200 && status < 300 && response) {
        if (!reads) events.dispatchEvent(new Event("changed"));
        return resolve(response);
      }
      if (status >= 200 && status < 300) return away();
      if (status === 401 && login === who.login) events.dispatchEvent(new Event("login"));
      reject(new Problem(status, response?.detail ?? t("api.status", { status })));
    };
    signal?.addEventListener("abort", () => request.abort());
    request.send(file);
  });
}

export const get = async (path, query, signal) => (await ask("GET", path, { query, signal })).body;
export const post = async (path, body = {}, options = {}) => (await ask("POST", path, { body, ...options })).body;

/** Normalise a list response: a page with a cursor, or a plain array. */
export const page = (answer) =>
  Array.isArray(answer) ? { items: answer, next: null } : { items: answer?.items ?? [], next: answer?.next ?? null };

export const entry = (id) => `/v1/entries/${encodeURIComponent(id)}`;
export const conversation = (ref) => `/v1/conversations/${encodeURIComponent(ref)}`;

/** Return a runner that aborts its pending call when a newer one starts. */
export function latest() {
  let controller = null;
  return async (run) => {
    controller?.abort();
    const mine = (controller = new AbortController());
    try {
      const made = await run(mine.signal);
      return mine.signal.aborted ? undefined : made;
    } catch (error) {
      if (mine.signal.aborted || error.name === "AbortError") return undefined;
      throw error;
    }
  };
}
