// Insert HTML fragments that this server rendered. The only module that makes HTML from text: Trusted Types
// allow no other, and scripts within the HTML do not run.
const policy = globalThis.trustedTypes?.createPolicy("shrag", { createHTML: (html) => html });

export function insertFragment(name, html) {
  const region = document.querySelector(`[data-region="${name === "node" ? "tree" : name}"]`);
  if (!region) return;
  if (name === "draft") append(region, parse(html));
  else if (name === "node") updateNode(parse(html));
  else replace(region, parse(html));
  document.dispatchEvent(new CustomEvent("shrag:fragment", { detail: name }));
}

// The full text of a record is fetched when it is first opened. Without scripts there is a link to the record.
export function startLoadingTexts() {
  document.addEventListener("toggle", (event) => {
    if (event.target.open && event.target.matches?.("[data-unloaded]")) loadText(event.target);
  }, true);
}

async function loadText(details) {
  details.removeAttribute("data-unloaded"); // once, however often it is opened meanwhile
  const record = new URL(details.closest("article").querySelector("h3 a").href);
  try {
    const response = await fetch(`/record/text${record.search}`);
    if (!response.ok) throw new Error(`${response.status}`);
    const text = parse(await response.text());
    details.querySelector(":scope > p")?.remove();
    details.append(text);
  } catch {
    details.setAttribute("data-unloaded", ""); // the link stays, and opening it again tries again
  }
}

function parse(html) {
  const template = document.createElement("template");
  template.innerHTML = policy ? policy.createHTML(html) : html;
  return template.content;
}

// The first sentence of a section comes with its section; others are appended to the last paragraph.
function append(draft, fragment) {
  const paragraph = draft.querySelector("section:last-of-type p");
  (fragment.querySelector("section") || !paragraph ? draft : paragraph).append(fragment);
}

// Replace a node of the tree, or add it below its parent; its children and the focus stay.
function updateNode(fragment) {
  document.getElementById("tree-count")?.replaceWith(fragment.querySelector("#tree-count"));
  const question = fragment.querySelector("li");
  const before = document.getElementById(question.id);
  if (before) {
    before.className = question.className;
    before.querySelector(".node").replaceWith(question.querySelector(".node"));
    return;
  }
  const parent = document.getElementById(`node-${question.dataset.parent}`) ?? document.getElementById("tree");
  let list = parent?.querySelector(":scope > ol");
  if (parent && !list) {
    list = document.createElement("ol");
    list.setAttribute("role", "list");
    parent.append(list);
  }
  list?.append(question);
}

// Replace the content of a region; what the reader has opened stays open, and the focus stays.
function replace(region, fragment) {
  const open = new Map([...region.querySelectorAll("details[id]")].map((each) => [each.id, each.open]));
  const focused = region.contains(document.activeElement) ? document.activeElement.id : "";
  region.replaceChildren(fragment);
  for (const [id, isOpen] of open) {
    const details = document.getElementById(id);
    if (details) details.open = isOpen;
  }
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
}
