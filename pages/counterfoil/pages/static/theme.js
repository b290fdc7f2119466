// @ts-check
// Applies the chosen theme before the page is drawn: this script alone is not a module, and waits for nothing.
// What needs scripts has the class "scripted", and keeps its place from the first paint on.
(() => {
  const key = "counterfoil.theme";
  const root = document.documentElement;

  /** @returns {string} the stored choice, empty for that of the system */
  const stored = () => {
    try {
      return localStorage.getItem(key) ?? "";
    } catch {
      return "";
    }
  };

  /** @param {string} choice */
  const apply = (choice) => {
    if (choice === "light" || choice === "dark") root.dataset.theme = choice;
    else delete root.dataset.theme;
  };

  root.dataset.script = ""; // shows what needs scripts from the first paint on
  apply(stored());
  addEventListener("DOMContentLoaded", () => {
    const label = /** @type {HTMLElement | null} */ (document.querySelector("[data-theme-choice]"));
    const select = label?.querySelector("select");
    if (!label || !select) return;
    select.value = stored();
    select.addEventListener("change", () => {
      apply(select.value);
      try {
        localStorage.setItem(key, select.value);
      } catch {
        // A browser that stores nothing keeps the choice for this page.
      }
    });
  });
})();
