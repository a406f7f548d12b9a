// Asking without leaving the page: the answer comes in pieces, can be stopped, and has an address of its own.
import { announce } from "./announcing.js";
import { readEvents } from "./events.js";
import { place } from "./pieces.js";
import { startRetrying, stopRetrying, watch } from "./retrying.js";

const main = document.getElementById("results");
const form = document.getElementById("ask");
const input = document.getElementById("q");
const strategy = document.getElementById("strategy");
const left = new Map(); // what was shown under an address, for the way back to it
const MOST_LEFT = 20;
let shown = location.search;
let asking = null;

export function startAsking() {
  let composing = false;
  input.addEventListener("compositionstart", () => (composing = true));
  input.addEventListener("compositionend", () => (composing = false));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    // Enter ends a syllable that is being composed; it does not send half a word.
    if (!composing) ask(filledIn());
  });
  strategy.addEventListener("change", explain);
  document.addEventListener("click", (event) => {
    const act = event.target.closest?.("[data-act]")?.dataset.act;
    if (act === "stop") asking?.abort();
    if (act === "again" && asksHere(event)) {
      event.preventDefault();
      askAgain();
    }
  });
  document.addEventListener("keydown", (event) => {
    // What is open closes first: an Esc means one thing.
    if (event.key !== "Escape" || event.isComposing || event.defaultPrevented) return;
    if (document.querySelector("dialog[open], #card:not([hidden])")) return;
    if (main.querySelector(".waiting:not(.ended)")) asking?.abort();
    stopRetrying();
  }, true);
  startRetrying(askAgain);
  window.addEventListener("popstate", goBack);
  follow();
}

// The address has changed, and what is shown with it.
export function renamed() {
  shown = location.search;
  follow();
}

// What is left as it is has no place in the address.
function filledIn() {
  const parameters = new URLSearchParams(new FormData(form));
  if (!parameters.get("strategy")) parameters.delete("strategy");
  return parameters;
}

function explain() {
  document.getElementById("strategy-does").textContent = strategy.selectedOptions[0]?.dataset.does ?? "";
}

function askAgain() {
  ask(new URLSearchParams(location.search));
}

// A record's page has an address of its own, and a link that is opened elsewhere is left alone.
function asksHere(event) {
  return location.pathname === "/" && new URLSearchParams(location.search).has("q") && !event.ctrlKey && !event.metaKey && !event.shiftKey;
}

async function ask(parameters) {
  stopRetrying();
  asking?.abort();
  const own = (asking = new AbortController());
  leave();
  const address = `/?${parameters}`;
  if (address !== location.pathname + location.search) history.pushState(null, "", address);
  renamed();
  show(document.getElementById("waiting").content.cloneNode(true), parameters.get("q"));
  try {
    const response = await fetch(`/stream?${parameters}`, { signal: own.signal, headers: { Accept: "text/event-stream" } });
    if (response.ok) {
      await follows(response, own.signal);
    } else if (response.status === 422 || response.status === 409) {
      location.replace(address); // the page says what is wrong in the reader's own language
    } else {
      const problem = await response.json().catch(() => ({}));
      fail(problem.code ?? "unexpected", problem.detail, response.headers.get("Retry-After"));
    }
  } catch (error) {
    if (own.signal.aborted) end("stopped");
    else if (main.querySelector(".sentence")) end("cut");
    else fail("away");
  }
}

async function follows(response, signal) {
  for await (const { name, data } of readEvents(response.body)) {
    if (signal.aborted) break;
    if (name === "piece") place(data.place, data.html);
    else if (name === "step") tell(data.says, data.anew);
    else if (name === "error") return fail(data.code, data.detail);
    else if (name === "whole") {
      announce(data.says, true);
      document.dispatchEvent(new CustomEvent("shrag:answered"));
      return;
    }
  }
  end(signal.aborted ? "stopped" : "cut");
}

function tell(says, anew) {
  announce(says);
  const step = main.querySelector(".waiting .step");
  if (step) step.textContent = says;
  if (anew) main.querySelector('[data-place="draft"]')?.replaceChildren();
}

// The answer is not whole: what has come stays, and it is said that it is not all.
function end(how) {
  const waiting = main.querySelector(".waiting");
  if (!waiting) return;
  tell(waiting.querySelector(".step").dataset[how], false);
  announce(waiting.querySelector(".step").textContent, true);
  waiting.setAttribute("aria-busy", "false");
  waiting.classList.add("ended");
  waiting.querySelectorAll("[data-act=stop], .skeleton").forEach((each) => each.remove());
}

// What the page has words for it says in them, the rest in the server's.
function fail(code, detail = "", retryAfter = null) {
  const failed = document.getElementById("failed").content.cloneNode(true);
  const line = failed.querySelector(".detail");
  const said = JSON.parse(line.dataset.said);
  const known = Object.hasOwn(said, code ?? "") ? said[code] : null;
  if (known) failed.querySelector("h2").textContent = known.title;
  line.textContent = known?.detail ?? detail;
  const again = failed.querySelector("[data-act=again]");
  again.href = location.pathname + location.search;
  if (retryAfter !== null) again.dataset.retryAfter = retryAfter;
  main.replaceChildren(failed);
  announce(line.textContent, true);
  watch(askAgain);
}

function show(content, question) {
  main.replaceChildren(content);
  document.body.className = question === null ? "empty" : "asked";
  document.title = question ? `${question} · SHRAG` : "SHRAG";
}

function leave() {
  left.delete(shown);
  left.set(shown, [...main.childNodes]);
  if (left.size > MOST_LEFT) left.delete(left.keys().next().value);
}

function goBack() {
  if (location.search === shown) return; // only the place within the page has changed
  asking?.abort();
  leave();
  const before = left.get(location.search);
  const question = new URLSearchParams(location.search).get("q");
  const chosen = new URLSearchParams(location.search).get("strategy") ?? "";
  const offered = [...strategy.options].some((each) => each.value === chosen);
  if (!before || !offered || before.some((node) => node.querySelector?.(".waiting"))) return location.reload();
  renamed();
  input.value = question ?? "";
  strategy.value = chosen;
  explain();
  const content = document.createDocumentFragment();
  content.append(...before);
  show(content, question);
  document.dispatchEvent(new CustomEvent("shrag:answered"));
}

// Links that ask for what is shown keep up with it.
function follow() {
  if (location.pathname !== "/") return;
  const other = document.getElementById("switch");
  const parameters = new URLSearchParams(location.search);
  parameters.set("ui", other.lang);
  other.href = `/?${parameters}`;
}
