// @ts-check
// Ctrl or Command with K goes to the search; with Enter in a text area it sends the form. There are no single keys.
const search = /** @type {HTMLInputElement | null} */ (document.getElementById("search"));

addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
  if (event.key === "k" && search) {
    event.preventDefault();
    search.focus();
    search.select();
  } else if (event.key === "Enter" && event.target instanceof HTMLTextAreaElement) {
    event.preventDefault();
    event.target.form?.requestSubmit();
  }
});
