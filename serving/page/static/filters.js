// A filter that is changed asks again; links that ask the same question otherwise do so without leaving the page.
import { ask } from "./ask.js";

export function startFilters() {
  document.addEventListener("change", (event) => {
    if (event.target.form?.id === "filter" && event.target.form.reportValidity()) filter(event.target.form);
  });
  document.addEventListener("submit", (event) => {
    if (event.target.id !== "filter") return;
    event.preventDefault();
    filter(event.target);
  });
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[data-asks]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    ask(new URL(link.href).searchParams);
  });
}

// As the form is sent without scripts, but without its empty fields.
function filter(form) {
  const filled = [...new FormData(form)].filter(([, value]) => value.trim());
  ask(new URLSearchParams(filled));
}
