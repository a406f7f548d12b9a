// Ask without leaving the page: the answer is streamed, can be stopped, and has a URL of its own.
import { readEvents } from "./events.js";
import { insertFragment } from "./fragments.js";
import { announce } from "./live_region.js";
import { startCountdown, startRetrying, stopRetrying } from "./retry.js";

const main = document.getElementById("results");
const form = document.getElementById("ask");
const input = document.getElementById("q");
const strategy = document.getElementById("strategy");
const index = document.getElementById("index"); // only where several are served
const pages = new Map(); // content by query string, for the browser's back button
const MOST_PAGES = 20;
let shown = location.search;
let running = null; // the AbortController of the stream

export function startAsking() {
  let composing = false;
  input.addEventListener("compositionstart", () => (composing = true));
  input.addEventListener("compositionend", () => (composing = false));
  form.addEventListener("submit", (event) => {
    // Another index has another page: its facts and its strategies.
    if (index && !composing && index.value !== (new URLSearchParams(location.search).get("index") ?? "")) return;
    event.preventDefault();
    // Enter ends a syllable that is being composed; it does not send half a word.
    if (!composing) ask(formParameters());
  });
  strategy.addEventListener("change", describeStrategy);
  document.addEventListener("click", (event) => {
    const action = event.target.closest?.("[data-action]")?.dataset.action;
    if (action === "stop") running?.abort();
    if (action === "retry" && asksOnThisPage(event)) {
      event.preventDefault();
      askAgain();
    }
  });
  document.addEventListener("keydown", (event) => {
    // An open dialog or card is closed first: one Esc does one thing.
    if (event.key !== "Escape" || event.isComposing || event.defaultPrevented) return;
    if (document.querySelector("dialog[open], #card:not([hidden])")) return;
    if (main.querySelector(".waiting:not(.ended)")) running?.abort();
    stopRetrying();
  }, true);
  startRetrying(askAgain);
  window.addEventListener("popstate", goBack);
  updateLanguageLink();
}

// Note that the URL has changed together with the content.
function urlChanged() {
  shown = location.search;
  updateLanguageLink();
}

// The default strategy and the first index are not in the URL.
function formParameters() {
  const parameters = new URLSearchParams(new FormData(form));
  for (const name of ["strategy", "index"]) if (!parameters.get(name)) parameters.delete(name);
  return parameters;
}

function describeStrategy() {
  document.getElementById("strategy-description").textContent = strategy.selectedOptions[0]?.dataset.description ?? "";
}

// Further records come without an answer, so as a page of their own.
function askAgain() {
  const parameters = new URLSearchParams(location.search);
  if (parameters.has("offset")) location.reload();
  else ask(parameters);
}

// Not on a record's page, and not for a link that is opened in another tab.
function asksOnThisPage(event) {
  return location.pathname === "/" && new URLSearchParams(location.search).has("q") && !event.ctrlKey && !event.metaKey && !event.shiftKey;
}

export async function ask(parameters) {
  stopRetrying();
  running?.abort();
  const own = (running = new AbortController());
  savePage();
  const url = `/?${parameters}`;
  if (url !== location.pathname + location.search) history.pushState(null, "", url);
  urlChanged();
  show(document.getElementById("waiting").content.cloneNode(true), parameters.get("q"));
  try {
    const response = await fetch(`/stream?${parameters}`, { signal: own.signal, headers: { Accept: "text/event-stream" } });
    if (response.ok) {
      await showEvents(response, own.signal);
    } else if (response.status === 422 || response.status === 409) {
      location.replace(url); // the page shows the error in the reader's language
    } else {
      const problem = await response.json().catch(() => ({}));
      fail(problem.code ?? "unexpected", problem.detail, response.headers.get("Retry-After"));
    }
  } catch (error) {
    if (own.signal.aborted) end("stopped");
    else if (main.querySelector(".sentence")) end("interrupted");
    else fail("unreachable");
  }
}

async function showEvents(response, signal) {
  for await (const { name, data } of readEvents(response.body)) {
    if (signal.aborted) break;
    if (name === "fragment") insertFragment(data.region, data.html);
    else if (name === "progress") showProgress(data.message, data.discard_draft);
    else if (name === "error") return fail(data.code, data.detail);
    else if (name === "complete") {
      announce(data.message, true);
      document.dispatchEvent(new CustomEvent("shrag:complete"));
      return;
    }
  }
  end(signal.aborted ? "stopped" : "interrupted");
}

function showProgress(message, discardDraft) {
  announce(message);
  const progress = main.querySelector(".waiting .progress");
  if (progress) progress.textContent = message;
  if (discardDraft) main.querySelector('[data-region="draft"]')?.replaceChildren();
}

// Keep what has come of an answer that is not complete, and say that it is not.
function end(reason) {
  const waiting = main.querySelector(".waiting");
  if (!waiting) return;
  const message = waiting.querySelector(".progress").dataset[reason];
  showProgress(message, false);
  announce(message, true);
  waiting.setAttribute("aria-busy", "false");
  waiting.classList.add("ended");
  waiting.querySelectorAll("[data-action=stop], .skeleton").forEach((each) => each.remove());
}

// Errors that the page has texts for are shown in these, others in the server's words.
function fail(code, detail = "", retryAfter = null) {
  const failed = document.getElementById("failed").content.cloneNode(true);
  const line = failed.querySelector(".detail");
  const texts = JSON.parse(line.dataset.problems);
  const known = Object.hasOwn(texts, code ?? "") ? texts[code] : null;
  if (known) failed.querySelector("h2").textContent = known.title;
  line.textContent = (known?.detail ?? "{detail}").replace("{detail}", () => detail);
  const retry = failed.querySelector("[data-action=retry]");
  retry.href = location.pathname + location.search;
  if (retryAfter !== null) retry.dataset.retryAfter = retryAfter;
  main.replaceChildren(failed);
  announce(line.textContent, true);
  startCountdown(askAgain);
}

function show(content, question) {
  main.replaceChildren(content);
  document.body.className = question === null ? "empty" : "with-question";
  document.title = question ? `${question} · SHRAG` : "SHRAG";
}

function savePage() {
  pages.delete(shown);
  pages.set(shown, [...main.childNodes]);
  if (pages.size > MOST_PAGES) pages.delete(pages.keys().next().value);
}

function goBack() {
  if (location.search === shown) return; // only the fragment identifier has changed
  running?.abort();
  savePage();
  const before = pages.get(location.search);
  const question = new URLSearchParams(location.search).get("q");
  const chosen = new URLSearchParams(location.search).get("strategy") ?? "";
  const offered = [...strategy.options].some((each) => each.value === chosen);
  if (!before || !offered || before.some((node) => node.querySelector?.(".waiting"))) return location.reload();
  urlChanged();
  input.value = question ?? "";
  strategy.value = chosen;
  describeStrategy();
  const content = document.createDocumentFragment();
  content.append(...before);
  show(content, question);
  document.dispatchEvent(new CustomEvent("shrag:complete"));
}

// The link to the other language asks the same question.
function updateLanguageLink() {
  if (location.pathname !== "/") return;
  const other = document.getElementById("switch");
  const parameters = new URLSearchParams(location.search);
  parameters.set("ui", other.lang);
  other.href = `/?${parameters}`;
}
