// @ts-check
// A range of lines: #L12-L20 marks and shows them; a click with Shift on a number makes a range from the line before.

/** @returns {[number, number] | null} */
function range() {
  const found = /^#L(\d+)(?:-L(\d+))?$/.exec(location.hash);
  if (!found) return null;
  const [one, other] = [Number(found[1]), Number(found[2] ?? found[1])];
  return [Math.min(one, other), Math.max(one, other)];
}

function mark() {
  for (const line of document.querySelectorAll("li.at")) line.classList.remove("at");
  const lines = range();
  if (!lines) return;
  for (let number = lines[0]; number <= Math.min(lines[1], lines[0] + 1000); number++) {
    document.getElementById(`L${number}`)?.classList.add("at");
  }
  document.getElementById(`L${lines[0]}`)?.scrollIntoView({ block: "center" });
}

for (const link of document.querySelectorAll("a.ln")) {
  link.addEventListener("click", (event) => {
    const before = range();
    if (!(event instanceof MouseEvent) || !event.shiftKey || !before) return;
    event.preventDefault();
    const number = Number((link.textContent ?? "").trim());
    location.hash = `#L${Math.min(before[0], number)}-L${Math.max(before[0], number)}`;
  });
}
addEventListener("hashchange", mark);
if (document.querySelector("a.ln")) mark();
