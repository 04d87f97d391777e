// Shows an error and a retry button if a file of the page fails to load or run. Not a module: it must work when modules do not.

const STARTS = 30_000; // milliseconds after which a page that has not started counts as failed

function failedToStart() {
  if (document.readyState === "loading") return addEventListener("DOMContentLoaded", failedToStart);
  const place = document.getElementById("loading"); // app.js removes the id when it runs
  if (!place) return;
  const again = document.createElement("button");
  again.type = "button";
  again.className = "button";
  again.textContent = "Try again";
  again.addEventListener("click", () => location.reload());
  place.setAttribute("role", "alert");
  place.replaceChildren("The page could not be loaded. ", again);
}

addEventListener("error", ({ target }) => { if (!(target instanceof HTMLLinkElement)) failedToStart(); }, true);
setTimeout(failedToStart, STARTS);
