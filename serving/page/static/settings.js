// The theme by hand; theme.js reads it before the page is drawn, so that it is kept there as a bare word.
export function startSettings() {
  const theme = document.getElementById("theme");
  theme.value = document.documentElement.dataset.theme ?? "";
  theme.addEventListener("change", () => {
    if (theme.value) document.documentElement.dataset.theme = theme.value;
    else delete document.documentElement.dataset.theme;
    try {
      if (theme.value) localStorage.setItem("shrag.theme", theme.value);
      else localStorage.removeItem("shrag.theme");
    } catch {
      // It holds until the page is left.
    }
  });
}
