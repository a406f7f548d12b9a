// Filters apply at once and are written into the URL. The rules are those of Filters in request.py.
import { urlChanged } from "./ask.js";

const NAMES = ["lang", "kind", "journal", "from", "to"];

export function startFilters() {
  document.addEventListener("change", (event) => event.target.form?.id === "filter" && filter());
  document.addEventListener("submit", (event) => {
    if (event.target.id !== "filter") return;
    event.preventDefault();
    filter();
  });
  document.addEventListener("click", (event) => {
    const bar = event.target.closest?.(".histogram a");
    const clears = event.target.closest?.("[data-action=clear-filter]");
    if (!fields() || !(bar || clears) || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    if (bar) {
      // A click on the chosen bar removes the filter.
      const chosen = bar.getAttribute("aria-current") === "true";
      fields().from.value = chosen ? "" : bar.dataset.from;
      fields().to.value = chosen ? "" : bar.dataset.to;
    } else {
      for (const name of NAMES) fields()[name].value = "";
      if (clears.closest(".hidden-by-filters")) document.querySelector(".filter summary").focus();
    }
    filter();
  });
  // Filters set while the answer was still streamed are kept.
  document.addEventListener("shrag:fragment", (event) => {
    if (event.detail === "records" && fields()) restore();
    if (event.detail === "answer") apply();
  });
}

const fields = () => document.getElementById("filter")?.elements;

function filter() {
  const parameters = new URLSearchParams(location.search);
  for (const name of NAMES) {
    const value = fields()[name].value.trim();
    if (value) parameters.set(name, value);
    else parameters.delete(name);
  }
  history.replaceState(null, "", `/?${parameters}`);
  urlChanged();
  apply();
}

function restore() {
  const parameters = new URLSearchParams(location.search);
  for (const name of NAMES) fields()[name].value = parameters.get(name) ?? "";
  apply();
}

function apply() {
  if (!fields()) return;
  const [language, kind, journal, from, to] = NAMES.map((name) => fields()[name].value.trim());
  const first = /^\d{1,4}$/.test(from) ? Number(from) : null;
  const last = /^\d{1,4}$/.test(to) ? Number(to) : null;
  const records = [...document.querySelectorAll(".records > ol > li")];
  for (const record of records) {
    const { language: its, kind: what, journal: where, year } = record.dataset;
    const inTime = first === null && last === null
      || year !== "" && (first ?? -Infinity) <= Number(year) && Number(year) <= (last ?? Infinity);
    record.hidden = !((!language || its === language) && (!kind || what === kind) && (!journal || where === journal) && inTime);
  }
  const shown = records.filter((record) => !record.hidden).length;
  explain(records.length - shown, shown);
  for (const bar of document.querySelectorAll(".histogram a")) {
    const within = (first ?? -Infinity) <= Number(bar.dataset.from) && Number(bar.dataset.to) <= (last ?? Infinity);
    if (within && (first ?? last) !== null) bar.setAttribute("aria-current", "true");
    else bar.removeAttribute("aria-current");
  }
  const count = document.querySelector(".shown");
  count.textContent = count.dataset.shown.replace("{shown}", shown).replace("{all}", records.length);
  if (shown < records.length) document.getElementById("status").textContent = count.textContent;
  for (const mark of document.querySelectorAll("a.mark")) {
    const record = document.getElementById(`record-${mark.dataset.record}`);
    mark.setAttribute("href", record && !record.hidden ? `#${record.id}` : `#source-${mark.dataset.source}`);
  }
  const link = document.querySelector("[data-link]");
  if (link) link.href = location.pathname + location.search;
}

// Say how many records are hidden, with a link that shows them.
function explain(hidden, shown) {
  const line = document.querySelector(".hidden-by-filters");
  const message = line.querySelector("[data-hidden]");
  message.textContent = message.dataset.hidden.replace("{count}", hidden);
  line.hidden = hidden === 0;
  line.classList.toggle("all", shown === 0);
}
