// HTML that this server rendered, put where it belongs. The only module that makes HTML from text: the policy of the
// browser (Trusted Types) lets no other do it, and scripts within it do not run.
const policy = globalThis.trustedTypes?.createPolicy("shrag", { createHTML: (html) => html });

export function place(name, html) {
  const region = document.querySelector(`[data-place="${name === "node" ? "tree" : name}"]`);
  if (!region) return;
  if (name === "draft") add(region, parse(html));
  else if (name === "node") grow(parse(html));
  else replace(region, parse(html));
  document.dispatchEvent(new CustomEvent("shrag:placed", { detail: name }));
}

// The whole text of a record, fetched when it is first unfolded. Without scripts a link to the record stands there.
export function startUnfolding() {
  document.addEventListener("toggle", (event) => {
    if (event.target.open && event.target.matches?.("[data-folded]")) unfold(event.target);
  }, true);
}

async function unfold(details) {
  details.removeAttribute("data-folded"); // once, however often it is opened meanwhile
  const record = new URL(details.closest("article").querySelector("h3 a").href);
  try {
    const response = await fetch(`/record/text${record.search}`);
    if (!response.ok) throw new Error(`${response.status}`);
    const text = parse(await response.text());
    details.querySelector(":scope > p")?.remove();
    details.append(text);
  } catch {
    details.setAttribute("data-folded", ""); // the link stays, and opening it again tries again
  }
}

function parse(html) {
  const template = document.createElement("template");
  template.innerHTML = policy ? policy.createHTML(html) : html;
  return template.content;
}

// A piece that begins a part brings its section; another one goes on where the last one ended.
function add(draft, piece) {
  const paragraph = draft.querySelector("section:last-of-type p");
  (piece.querySelector("section") || !paragraph ? draft : paragraph).append(piece);
}

// A question takes the place of what it was; what stands below it stays where it is, and so does the reader.
function grow(piece) {
  document.getElementById("tree-count")?.replaceWith(piece.querySelector("#tree-count"));
  const question = piece.querySelector("li");
  const before = document.getElementById(question.id);
  if (before) {
    before.className = question.className;
    before.querySelector(".node").replaceWith(question.querySelector(".node"));
    return;
  }
  const above = document.getElementById(`node-${question.dataset.parent}`) ?? document.getElementById("tree");
  let list = above?.querySelector(":scope > ol");
  if (above && !list) {
    list = document.createElement("ol");
    list.setAttribute("role", "list");
    above.append(list);
  }
  list?.append(question);
}

// What the reader has opened stays open, and where the reader is stays where it is.
function replace(region, piece) {
  const open = new Map([...region.querySelectorAll("details[id]")].map((each) => [each.id, each.open]));
  const focused = region.contains(document.activeElement) ? document.activeElement.id : "";
  region.replaceChildren(piece);
  for (const [id, isOpen] of open) {
    const details = document.getElementById(id);
    if (details) details.open = isOpen;
  }
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
}
