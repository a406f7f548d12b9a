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

// A question is kept as its text or, where it was not asked in the usual way, as its text and its strategy.
const isText = (each) => typeof each === "string";
const isAsked = (each) => isText(each) || Array.isArray(each) && each.length === 2 && each.every(isText);

function questions() {
  const kept = recall("history", []);
  return Array.isArray(kept) ? kept.filter(isAsked) : [];
}

function note() {
  const parameters = new URLSearchParams(location.search);
  const question = parameters.get("q")?.trim();
  const strategy = parameters.get("strategy")?.trim();
  if (!question || location.pathname !== "/" || document.querySelector(".problem")) return;
  const asked = strategy ? [question, strategy] : question;
  remember("history", [asked, ...questions().filter((each) => JSON.stringify(each) !== JSON.stringify(asked))].slice(0, MOST));
}

function show() {
  const kept = questions();
  section.hidden = kept.length === 0 || document.body.className !== "empty";
  section.querySelector("ol").replaceChildren(...kept.map(item));
}

function item(asked) {
  const [question, strategy] = isText(asked) ? [asked, ""] : asked;
  const link = document.createElement("a");
  link.href = `/?${new URLSearchParams({ q: question, ui: document.documentElement.lang, ...(strategy && { strategy }) })}`;
  link.textContent = strategy ? `${question} (${strategy})` : question;
  link.dir = "auto";
  const line = document.createElement("li");
  line.append(link);
  return line;
}
