// What a reader of the screen is told: a tree may grow faster than it can be said, so that of what comes close together
// the last is said. What ends an answer is said at once.
const PAUSE = 1500; // milliseconds between two sentences
const status = document.getElementById("status");
let latest = "";
let waiting = 0;
let said = -PAUSE;

export function announce(says, now = false) {
  latest = says;
  clearTimeout(waiting);
  const left = said + PAUSE - performance.now();
  if (now || left <= 0) say();
  else waiting = setTimeout(say, left);
}

function say() {
  said = performance.now();
  status.textContent = latest;
}
