// Single-key shortcuts: off while something is typed or composed, and where the reader switches them off (WCAG 2.1.4).
import { load, save } from "./storage.js";

// A Korean keyboard sends the letter on the same key.
const KOREAN = { "ㅓ": "j", "ㅏ": "k", "ㅐ": "o" };

export function startShortcuts() {
  const help = document.getElementById("help");
  const on = document.getElementById("shortcuts-on");
  on.checked = load("keys", true) !== false;
  on.addEventListener("change", () => save("keys", on.checked));
  document.addEventListener("click", (event) => event.target.closest?.("[data-action=help]") && help.showModal());
  document.addEventListener("keydown", (event) => {
    if (!on.checked || help.open || event.isComposing || event.keyCode === 229) return;
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.target.closest?.("input, textarea, select, [contenteditable]")) return;
    const key = KOREAN[event.key] ?? event.key;
    if (key === "/") focusQuestion();
    else if (key === "?") help.showModal();
    else if (key === "j") move(1);
    else if (key === "k") move(-1);
    else if (key === "o") toggle();
    else return;
    event.preventDefault();
  });
}

function focusQuestion() {
  const input = document.getElementById("q");
  input.focus();
  input.select();
}

function move(by) {
  const records = [...document.querySelectorAll(".records > ol > li:not([hidden])")];
  if (!records.length) return;
  const at = records.indexOf(document.activeElement?.closest?.(".records li"));
  const next = at < 0 ? (by > 0 ? 0 : records.length - 1) : Math.max(0, Math.min(records.length - 1, at + by));
  records[next].focus();
}

function toggle() {
  const details = document.activeElement?.closest?.(".records li")?.querySelector("details");
  if (details) details.open = !details.open;
}
