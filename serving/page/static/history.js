// The questions asked in this browser, the newest first, on the empty page. The server keeps none of it.
import { forget, recall, remember } from "./storage.js";

const MOST = 30;
const section = document.getElementById("history");

export function startHistory() {
  note();
  show();
  document.addEventListener("shrag:answered", () => (note(), show()));
  document.addEventListener("click", (event) => {
    if (!event.target.closest?.("[data-act=clear-history]")) return;
    forget("history");
    show();
    document.getElementById("q").focus();
  });
}

function questions() {
  const kept = recall("history", []);
  return Array.isArray(kept) ? kept.filter((each) => typeof each === "string") : [];
}

function note() {
  const question = new URLSearchParams(location.search).get("q")?.trim();
  if (!question || location.pathname !== "/" || document.querySelector(".problem")) return;
  remember("history", [question, ...questions().filter((each) => each !== question)].slice(0, MOST));
}

function show() {
  const kept = questions();
  section.hidden = kept.length === 0 || document.body.className !== "empty";
  section.querySelector("ol").replaceChildren(...kept.map(item));
}

function item(question) {
  const link = document.createElement("a");
  link.href = `/?${new URLSearchParams({ q: question, ui: document.documentElement.lang })}`;
  link.textContent = question;
  link.dir = "auto";
  const line = document.createElement("li");
  line.append(link);
  return line;
}
