// @ts-check
// A field above a long table that shows the rows of this page with a text. What is on other pages is for the search.
const LEAST_ROWS = 12;
const MESSAGE_MS = 300;

/** @param {HTMLTableElement} table */
function addFilter(table) {
  const rows = [...(table.tBodies[0]?.rows ?? [])];
  const region = table.parentElement;
  if (rows.length < LEAST_ROWS || !region) return;
  const texts = rows.map((row) => (row.textContent ?? "").toLowerCase());
  const label = document.createElement("label");
  const input = document.createElement("input");
  const status = document.createElement("span");
  const box = document.createElement("p");
  label.textContent = "Rows on this page with ";
  input.type = "search";
  input.autocomplete = "off";
  status.setAttribute("role", "status");
  status.className = "quiet small";
  box.className = "small";
  label.append(input);
  box.append(label, " ", status);
  region.before(box);
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

for (const table of document.querySelectorAll("table[data-rows]")) {
  if (table instanceof HTMLTableElement) addFilter(table);
}
