// @ts-check
// Reads a file into a text area, as text or as hexadecimal digits; and says where the caret is in a text area.
const MOST_BYTES = 10_000_000;

/** @param {ArrayBuffer} bytes */
function hexadecimal(bytes) {
  return [...new Uint8Array(bytes)].map((each) => each.toString(16).padStart(2, "0")).join(" ");
}

/** @param {HTMLElement} label */
function readInto(label) {
  const area = document.getElementById(label.dataset.file ?? "");
  const input = label.querySelector("input");
  if (!(area instanceof HTMLTextAreaElement) || !input) return;
  input.addEventListener("change", async () => {
    const file = input.files?.[0];
    if (!file) return;
    if (file.size > MOST_BYTES) {
      input.setCustomValidity("The file is larger than 10 MB.");
      input.reportValidity();
      return;
    }
    input.setCustomValidity("");
    area.value = label.dataset.as === "hex" ? hexadecimal(await file.arrayBuffer()) : await file.text();
    area.focus();
  });
}

/** @param {HTMLTextAreaElement} area */
function showCaret(area) {
  const place = document.getElementById(area.dataset.caret ?? "");
  if (!place) return;
  const show = () => {
    const before = area.value.slice(0, area.selectionStart).split("\n");
    place.textContent = `line ${before.length}, column ${(before.at(-1) ?? "").length + 1}`;
  };
  for (const event of ["input", "keyup", "click", "focus"]) area.addEventListener(event, show);
}

for (const label of document.querySelectorAll("[data-file]")) {
  if (label instanceof HTMLElement) readInto(label);
}
for (const area of document.querySelectorAll("textarea[data-caret]")) {
  if (area instanceof HTMLTextAreaElement) showCaret(area);
}
