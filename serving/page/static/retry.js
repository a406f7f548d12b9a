// Retry automatically where the server sent Retry-After. The reader can cancel it; a new question and five failed
// tries end it.
const MOST_TRIES = 5;
let timer = 0;
let tries = 0;

export function startRetrying(ask) {
  document.addEventListener("click", (event) => {
    if (event.target.closest?.("[data-action=stop-retry]")) stopRetrying();
  });
  document.addEventListener("shrag:complete", () => (tries = 0));
  startCountdown(ask);
}

// Count down to the next try where the page has one, then call `ask`.
export function startCountdown(ask) {
  clearInterval(timer);
  const link = document.querySelector("[data-retry-after]");
  if (!link) return;
  const line = document.querySelector(".countdown");
  if (tries >= MOST_TRIES) return stopRetrying();
  let left = Math.max(1, Number(link.dataset.retryAfter) || 1);
  const show = () => (line.textContent = line.dataset.retries.replace("{seconds}", left));
  line.hidden = false;
  document.querySelector("[data-action=stop-retry]").hidden = false;
  show();
  timer = setInterval(() => {
    if (document.hidden) return; // nobody is waiting for it
    left -= 1;
    if (left > 0) return show();
    clearInterval(timer);
    tries += 1;
    ask();
  }, 1000);
}

export function stopRetrying() {
  clearInterval(timer);
  for (const each of document.querySelectorAll(".countdown, [data-action=stop-retry]")) each.hidden = true;
}
