// Runs before anything is drawn, so that a theme chosen by hand does not flash past the system's.
try {
  const chosen = localStorage.getItem("shrag.theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // A browser may forbid storage: the system's theme it is.
}
