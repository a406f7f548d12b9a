// Copy the answer, its references or its URL to the clipboard. Downloads need no script.
import { announce } from "./live_region.js";

export function startCopying() {
  reveal();
  document.addEventListener("shrag:fragment", reveal);
  document.addEventListener("click", async (event) => {
    const action = event.target.closest?.("[data-action]")?.dataset.action ?? "";
    if (!action.startsWith("copy-")) return;
    const message = document.querySelector(".copied");
    try {
      await navigator.clipboard.writeText(await fetchText(action.slice(5)));
      message.textContent = message.dataset.copied;
    } catch {
      message.textContent = message.dataset.refused;
    }
    announce(message.textContent, true);
  });
}

async function fetchText(what) {
  if (what === "answer") return document.getElementById("answer-text").textContent;
  if (what === "link") return location.origin + location.pathname + location.search;
  const response = await fetch(document.querySelector(`[data-export=${what}]`).href);
  if (!response.ok) throw new Error(`${response.status}`);
  return response.text();
}

function reveal() {
  document.querySelectorAll("[data-scripted][hidden]").forEach((each) => (each.hidden = false));
  document.querySelectorAll("[data-unscripted]").forEach((each) => (each.hidden = true));
}
