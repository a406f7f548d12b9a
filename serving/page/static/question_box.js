// The boxes of questions: Enter asks, Shift+Enter begins a line; a box grows with its text, and says where that is too long.
const BOXES = "textarea[name=q]";
const MOST_ROWS = 8;
const grows = CSS.supports("field-sizing", "content");

export function startQuestionBoxes() {
  document.addEventListener("keydown", (event) => {
    // Enter ends a syllable that is being composed; it does not send half a word.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
    const box = event.target.closest?.(BOXES);
    if (!box) return;
    event.preventDefault();
    box.form.requestSubmit();
  });
  document.addEventListener("input", (event) => event.target.matches?.(BOXES) && update(event.target));
  document.addEventListener("shrag:complete", updateAll);
  updateAll();
}

function updateAll() {
  document.querySelectorAll(BOXES).forEach(update);
}

function update(box) {
  box.setCustomValidity(box.value.length > Number(box.dataset.most) ? box.dataset.tooLong : "");
  if (grows) return;
  box.rows = 1;
  while (box.scrollHeight > box.clientHeight && box.rows < MOST_ROWS) box.rows += 1;
}
