// The answer, its references and its address to the clipboard. Downloading them needs no script.
export function startCopying() {
  reveal();
  document.addEventListener("shrag:placed", reveal);
  document.addEventListener("click", async (event) => {
    const act = event.target.closest?.("[data-act]")?.dataset.act ?? "";
    if (!act.startsWith("copy-")) return;
    const said = document.querySelector(".copied");
    try {
      await navigator.clipboard.writeText(await text(act.slice(5)));
      said.textContent = said.dataset.copied;
    } catch {
      said.textContent = said.dataset.refused;
    }
    document.getElementById("status").textContent = said.textContent;
  });
}

async function text(what) {
  if (what === "answer") return document.getElementById("answer-text").textContent;
  if (what === "link") return location.origin + location.pathname + location.search;
  const response = await fetch(document.querySelector(`[data-copies=${what}]`).href);
  if (!response.ok) throw new Error(`${response.status}`);
  return response.text();
}

function reveal() {
  document.querySelectorAll("[data-scripted][hidden]").forEach((each) => (each.hidden = false));
  document.querySelectorAll("[data-unscripted]").forEach((each) => (each.hidden = true));
}
