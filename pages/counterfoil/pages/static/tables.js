// @ts-check
// A field above a long table that shows the rows of this page with a text. What is on other pages is for the search.
const MESSAGE_MS = 300;

/** @param {HTMLInputElement} input */
function filterRows(input) {
  const box = input.closest("p");
  const table = box?.nextElementSibling?.querySelector("table");
  const status = box?.querySelector("[role=status]");
  if (!table || !status) return;
  const rows = [...(table.tBodies[0]?.rows ?? [])];
  const texts = rows.map((row) => (row.textContent ?? "").toLowerCase());
  /** @type {number | undefined} */
  let waiting;
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach((row, at) => {
      row.hidden = !words.every((word) => texts[at]?.includes(word));
      if (!row.hidden) shown += 1;
    });
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      status.textContent = words.length ? `${shown} of ${rows.length}` : "";
    }, MESSAGE_MS);
  });
}

for (const input of document.querySelectorAll("[data-filter]")) {
  if (input instanceof HTMLInputElement) filterRows(input);
}
