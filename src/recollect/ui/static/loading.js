// Shows an error and a retry when a file of the page cannot be loaded or run. No module, because it must work when those do not.

const STARTS = 30_000; // milliseconds after which the page should have started

function failedToStart() {
  if (document.readyState === "loading") return addEventListener("DOMContentLoaded", failedToStart);
  const place = document.getElementById("loading"); // app.js takes the id away when it runs
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
