// localStorage, or a no-op if it is disabled.

export const kept = {
  get(key) { try { return localStorage.getItem(`recollect.${key}`); } catch { return null; } },
  set(key, value) { try { localStorage.setItem(`recollect.${key}`, value); } catch { /* not stored */ } },
};
