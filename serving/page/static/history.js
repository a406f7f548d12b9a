// The questions asked in this browser, the newest first, on the empty page. The server stores none of them.
import { load, remove, save } from "./storage.js";

const MOST = 30;
const section = document.getElementById("history");

export function startHistory() {
  add();
  show();
  document.addEventListener("shrag:complete", () => (add(), show()));
  document.addEventListener("click", (event) => {
    if (!event.target.closest?.("[data-action=clear-history]")) return;
    remove("history");
    show();
    document.getElementById("q").focus();
  });
}

// An entry is the text of a question or, with another strategy or index than the default, these three.
const isText = (each) => typeof each === "string";
const isEntry = (each) => isText(each) || Array.isArray(each) && [2, 3].includes(each.length) && each.every(isText);

function entries() {
  const stored = load("history", []);
  return Array.isArray(stored) ? stored.filter(isEntry) : [];
}

function add() {
  const parameters = new URLSearchParams(location.search);
  const question = parameters.get("q")?.trim();
  const strategy = parameters.get("strategy")?.trim();
  if (!question || location.pathname !== "/" || document.querySelector(".problem")) return;
  const index = parameters.get("index")?.trim();
  const entry = index ? [question, strategy ?? "", index] : strategy ? [question, strategy] : question;
  save("history", [entry, ...entries().filter((each) => JSON.stringify(each) !== JSON.stringify(entry))].slice(0, MOST));
}

function show() {
  const stored = entries();
  section.hidden = stored.length === 0 || document.body.className !== "empty";
  section.querySelector("ol").replaceChildren(...stored.map(item));
}

function item(entry) {
  const [question, strategy, index] = isText(entry) ? [entry, ""] : entry;
  const link = document.createElement("a");
  link.href = `/?${new URLSearchParams({ q: question, ui: document.documentElement.lang, ...(strategy && { strategy }), ...(index && { index }) })}`;
  const others = [strategy, index].filter(Boolean).join(", ");
  link.textContent = others ? `${question} (${others})` : question;
  link.dir = "auto";
  const line = document.createElement("li");
  line.append(link);
  return line;
}
