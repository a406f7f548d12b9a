// Asking again by itself where the server says when that may help. The reader can stop it, and so do a new question and
// too many tries: a server that is not coming back is not asked for ever.
const MOST_TRIES = 5;
let ticking = 0;
let tries = 0;

export function startRetrying(again) {
  document.addEventListener("click", (event) => {
    if (event.target.closest?.("[data-act=stop-retry]")) stopRetrying();
  });
  document.addEventListener("shrag:answered", () => (tries = 0));
  watch(again);
}

// Count down where the page shown says to; `again` asks.
export function watch(again) {
  clearInterval(ticking);
  const link = document.querySelector("[data-retry-after]");
  if (!link) return;
  const line = document.querySelector(".countdown");
  if (tries >= MOST_TRIES) return stopRetrying();
  let left = Math.max(1, Number(link.dataset.retryAfter) || 1);
  const say = () => (line.textContent = line.dataset.retries.replace("{seconds}", left));
  line.hidden = false;
  document.querySelector("[data-act=stop-retry]").hidden = false;
  say();
  ticking = setInterval(() => {
    if (document.hidden) return; // nobody is waiting for it
    left -= 1;
    if (left > 0) return say();
    clearInterval(ticking);
    tries += 1;
    again();
  }, 1000);
}

export function stopRetrying() {
  clearInterval(ticking);
  for (const each of document.querySelectorAll(".countdown, [data-act=stop-retry]")) each.hidden = true;
}
