// @ts-check
// Buttons that copy a text as it is: what the page shows may have the numbers of invisible characters in it.
for (const button of document.querySelectorAll("button[data-copy]")) {
  if (!(button instanceof HTMLButtonElement)) continue;
  const first = button.firstChild;
  button.addEventListener("click", async () => {
    try {
      // Browsers have no clipboard for pages without TLS that are not of this machine.
      await navigator.clipboard.writeText(button.dataset.copy ?? "");
      if (first) first.textContent = "Copied";
    } catch {
      if (first) first.textContent = "Not allowed";
    }
    setTimeout(() => {
      if (first) first.textContent = "Copy";
    }, 2000);
  });
}
