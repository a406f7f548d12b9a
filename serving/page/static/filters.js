// A value that is ticked asks again, years by Enter or the button; links to the same question do so on this page too.
import { ask } from "./ask.js";

let focused = null; // the name and value of the field that asked, which the new form has too

export function startFilters() {
  document.addEventListener("change", (event) => {
    if (event.target.matches?.("#filter [type=checkbox]")) filter(event.target.form, event.target);
  });
  document.addEventListener("submit", (event) => {
    if (event.target.id !== "filter") return;
    event.preventDefault();
    filter(event.target, document.activeElement);
  });
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[data-asks]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    ask(new URL(link.href).searchParams);
  });
  document.addEventListener("shrag:fragment", (event) => {
    if (event.detail === "records" && focused && document.activeElement === document.body) restoreFocus();
  });
  document.addEventListener("shrag:complete", () => (focused = null));
}

// As the form is sent without scripts, but without its empty fields.
function filter(form, field) {
  const filled = [...new FormData(form)].filter(([, value]) => value.trim());
  focused = { name: field.name, value: field.type === "checkbox" ? field.value : null };
  ask(new URLSearchParams(filled));
}

function restoreFocus() {
  const fields = [...document.querySelectorAll("#filter input")];
  const same = fields.find((each) => each.name === focused.name && (focused.value === null || each.value === focused.value));
  if (!same) return;
  for (let folded = same.closest("details"); folded; folded = folded.parentElement.closest("details")) folded.open = true;
  same.focus({ preventScroll: true });
}
