// Messages for screen readers. A tree may grow faster than it can be read out, so of messages that come close together
// only the last is announced. The end of an answer is announced at once.
const PAUSE = 1500; // milliseconds between two messages
const status = document.getElementById("status");
let latest = "";
let waiting = 0;
let lastTime = -PAUSE;

export function announce(message, now = false) {
  latest = message;
  clearTimeout(waiting);
  const left = lastTime + PAUSE - performance.now();
  if (now || left <= 0) flush();
  else waiting = setTimeout(flush, left);
}

function flush() {
  lastTime = performance.now();
  status.textContent = latest;
}
