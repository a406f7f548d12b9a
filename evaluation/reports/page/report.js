"use strict";
// Everything stands in the page without this: it only sorts tables, and filters and orders the questions.

const numberOf = (cell) => Number(cell.dataset.value ?? cell.textContent.replaceAll(",", ""));

const byText = new Intl.Collator(undefined, { numeric: true }).compare;

function sortTable(table, column, direction) {
  const body = table.tBodies[0];
  const rows = [...body.rows].map((row) => ({ row, cell: row.cells[column] }));
  const numeric = rows.every(({ cell }) => !Number.isNaN(numberOf(cell)));
  rows.sort((one, other) => direction * (numeric ? numberOf(one.cell) - numberOf(other.cell) : byText(one.cell.textContent, other.cell.textContent)));
  body.append(...rows.map(({ row }) => row));
}

for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const falling = head.getAttribute("aria-sort") === "descending" || (!head.hasAttribute("aria-sort") && column === 0);
      heads.forEach((each) => each.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", falling ? "ascending" : "descending");
      sortTable(table, column, falling ? 1 : -1);
    });
  });
}

for (const section of document.querySelectorAll(".questions")) {
  const form = section.querySelector(".filter");
  if (!form) continue;
  const cases = [...section.querySelectorAll(".case")];
  const words = form.querySelector("input");
  const order = form.querySelector("select");
  const told = form.querySelector("output");
  const show = () => {
    const wanted = words.value.normalize("NFC").toLowerCase();
    let shown = 0;
    for (const each of cases) {
      each.hidden = !each.querySelector("summary").textContent.normalize("NFC").toLowerCase().includes(wanted);
      shown += !each.hidden;
    }
    told.textContent = wanted ? `${shown} of ${cases.length}` : "";
  };
  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  words.addEventListener("input", show);
  order.addEventListener("change", () => {
    const by = order.value;
    const compare = by === "order"
      ? (one, other) => byText(one.dataset.order, other.dataset.order)
      : (one, other) => Number(other.dataset[by]) - Number(one.dataset[by]);
    section.append(...[...cases].sort(compare));
  });
}
