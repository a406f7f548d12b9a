// Filters take hold at once and are written into the address. The rules are those of Filters in page_request.py.
import { renamed } from "./ask.js";

const NAMES = ["lang", "journal", "from", "to"];

export function startFilters() {
  document.addEventListener("change", (event) => event.target.form?.id === "filter" && filter());
  document.addEventListener("submit", (event) => {
    if (event.target.id !== "filter") return;
    event.preventDefault();
    filter();
  });
  document.addEventListener("click", (event) => {
    if (!event.target.closest?.("[data-act=clear-filter]")) return;
    event.preventDefault();
    for (const name of NAMES) fields()[name].value = "";
    filter();
  });
  // What was filtered while the answer was still being written stays filtered.
  document.addEventListener("shrag:placed", (event) => {
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
  renamed();
  apply();
}

function restore() {
  const parameters = new URLSearchParams(location.search);
  for (const name of NAMES) fields()[name].value = parameters.get(name) ?? "";
  apply();
}

function apply() {
  if (!fields()) return;
  const [language, journal, from, to] = NAMES.map((name) => fields()[name].value.trim());
  const first = /^\d{1,4}$/.test(from) ? Number(from) : null;
  const last = /^\d{1,4}$/.test(to) ? Number(to) : null;
  const records = [...document.querySelectorAll(".records > ol > li")];
  for (const record of records) {
    const { language: its, journal: where, year } = record.dataset;
    const inTime = first === null && last === null
      || year !== "" && (first ?? -Infinity) <= Number(year) && Number(year) <= (last ?? Infinity);
    record.hidden = !((!language || its === language) && (!journal || where === journal) && inTime);
  }
  const shown = records.filter((record) => !record.hidden).length;
  document.querySelector(".none-shown").hidden = shown > 0;
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
