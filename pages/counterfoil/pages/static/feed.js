// @ts-check
// Says how many changes are new while the page is looked at; rows do not move by themselves. A page that is not seen
// lets its connection go, since browsers allow six connections to a server.
const note = /** @type {HTMLElement | null} */ (document.querySelector("[data-feed]"));

/** @param {HTMLElement} place */
function follow(place) {
  let last = place.dataset.after ?? "0";
  let count = 0;
  /** @type {EventSource | null} */
  let source = null;

  const show = () => {
    const link = document.createElement("a");
    link.href = location.href;
    link.textContent = "show";
    place.replaceChildren(`${count} new ${count === 1 ? "change" : "changes"}: `, link);
    place.hidden = false;
  };

  /** @param {MessageEvent} event */
  const arrived = (event) => {
    const number = Number(event.lastEventId);
    if (!(number > Number(last))) return;
    last = event.lastEventId;
    count += 1;
    show();
  };

  const open = () => {
    if (source || document.hidden) return;
    source = new EventSource(`${place.dataset.feed}?after=${encodeURIComponent(last)}`);
    for (const kind of ["version-registered", "version-deleted", "version-removed", "settings-changed",
      "context-deleted", "record-changed"]) {
      source.addEventListener(kind, arrived);
    }
  };

  const close = () => {
    source?.close();
    source = null;
  };

  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  addEventListener("pagehide", close);
  open();
}

if (note) follow(note);
