// Sets the chosen theme before the first paint. Without a choice the system's is used.
try {
  const chosen = localStorage.getItem("recollect.theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch { /* storage may be disabled: use the system's theme */ }
