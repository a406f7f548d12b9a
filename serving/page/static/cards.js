// A citation shows its record while the pointer or the focus is on it. Esc closes, and the pointer may move onto it.
const card = document.getElementById("card");
const LINGER = 250; // milliseconds to reach the card in
let mark = null;
let closing = 0;

export function startCards() {
  document.addEventListener("pointerover", (event) => {
    const over = event.target.closest?.("a.mark");
    if (over) open(over);
    else if (card.contains(event.target)) clearTimeout(closing);
    else if (mark && document.activeElement !== mark) closeSoon();
  });
  document.addEventListener("focusin", (event) => {
    const on = event.target.closest?.("a.mark");
    if (on) open(on);
    else close();
  });
  document.addEventListener("click", (event) => event.target.closest?.("a.mark") && close());
  document.addEventListener("keydown", (event) => event.key === "Escape" && !event.isComposing && close());
  document.addEventListener("shrag:fragment", close);
  window.addEventListener("resize", close);
}

function open(next) {
  clearTimeout(closing);
  if (next === mark) return;
  close();
  const article = document.querySelector(`#record-${next.dataset.record} article`);
  if (!article) return;
  mark = next;
  if (mark.title) {
    mark.setAttribute("aria-label", `${mark.textContent} ${mark.title}`);
    mark.removeAttribute("title"); // the browser would show it over the card
  }
  const body = article.querySelector(".body").cloneNode(true);
  body.querySelectorAll("details, .score, .duplicates").forEach((each) => each.remove());
  body.querySelectorAll("[id]").forEach((each) => each.removeAttribute("id"));
  const title = document.createElement("p");
  title.className = "title";
  title.append(...body.querySelector("h3").childNodes);
  body.querySelector("h3").replaceWith(title);
  card.lang = article.lang;
  card.replaceChildren(body);
  card.hidden = false;
  document.getElementById("results").append(card); // within a landmark
  mark.setAttribute("aria-describedby", "card");
  put();
}

function put() {
  const at = mark.getBoundingClientRect();
  const width = document.documentElement.clientWidth;
  const left = Math.max(12, Math.min(at.left, width - card.offsetWidth - 12));
  const above = at.bottom + card.offsetHeight + 12 > innerHeight && at.top > card.offsetHeight + 12;
  card.style.left = `${left + scrollX}px`;
  card.style.top = `${scrollY + (above ? at.top - card.offsetHeight - 6 : at.bottom + 6)}px`;
}

function closeSoon() {
  clearTimeout(closing);
  closing = setTimeout(close, LINGER);
}

function close() {
  clearTimeout(closing);
  mark?.removeAttribute("aria-describedby");
  mark = null;
  card.remove();
}
