// @ts-check
// Suggestions below the search field: names that /inspect/v1/search finds, as a list to choose from.
// Source: ARIA Authoring Practices Guide, "Editable Combobox With List Autocomplete".
const WAIT_MS = 150;
const MOST = 8;
const input = /** @type {HTMLInputElement | null} */ (document.getElementById("search"));

/** @typedef {{ subject: string, text: string, kind: string, version?: number, path?: string }} Hit */

/** @param {HTMLInputElement} field */
function suggest(field) {
  const list = document.createElement("ul");
  list.className = "suggest";
  list.id = "suggestions";
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "Suggestions");
  list.hidden = true;
  field.after(list);
  field.setAttribute("role", "combobox");
  field.setAttribute("aria-autocomplete", "list");
  field.setAttribute("aria-controls", list.id);
  field.setAttribute("aria-expanded", "false");
  let chosen = -1;
  let asked = 0;
  /** @type {number | undefined} */
  let waiting;

  const close = () => {
    list.hidden = true;
    chosen = -1;
    field.setAttribute("aria-expanded", "false");
    field.removeAttribute("aria-activedescendant");
  };

  /** @param {number} next */
  const choose = (next) => {
    const options = [...list.children];
    if (!options.length) return;
    chosen = (next + options.length) % options.length;
    options.forEach((each, at) => each.setAttribute("aria-selected", String(at === chosen)));
    field.setAttribute("aria-activedescendant", options[chosen]?.id ?? "");
  };

  /** @param {Element | undefined} option */
  const open = (option) => {
    if (!(option instanceof HTMLElement)) return;
    field.value = option.dataset.text ?? field.value;
    close();
    field.form?.requestSubmit();
  };

  /** @param {Hit[]} hits */
  const show = (hits) => {
    list.replaceChildren();
    const seen = new Set();
    for (const hit of hits) {
      const text = hit.kind === "subject" ? hit.subject : hit.path || hit.text;
      if (!text || seen.has(text)) continue;
      seen.add(text);
      const option = document.createElement("li");
      option.id = `suggestion-${list.children.length}`;
      option.setAttribute("role", "option");
      option.setAttribute("aria-selected", "false");
      option.dataset.text = text;
      option.textContent = hit.kind === "subject" ? text : `${text} · ${hit.subject}`;
      option.addEventListener("mousedown", (event) => {
        event.preventDefault();
        open(option);
      });
      list.append(option);
    }
    chosen = -1;
    list.hidden = !list.children.length;
    field.setAttribute("aria-expanded", String(!list.hidden));
  };

  field.addEventListener("input", () => {
    clearTimeout(waiting);
    const query = field.value.trim();
    if (query.length < 2) {
      close();
      return;
    }
    waiting = setTimeout(async () => {
      const mine = ++asked;
      try {
        const url = `${field.dataset.suggest}?q=${encodeURIComponent(query)}&limit=${MOST}&counts=false`;
        const answer = await fetch(url, { headers: { Accept: "application/json" } });
        const found = answer.ok ? await answer.json() : { hits: [] };
        if (mine === asked && document.activeElement === field) show((found.hits ?? []).slice(0, MOST));
      } catch {
        close();
      }
    }, WAIT_MS);
  });
  field.addEventListener("keydown", (event) => {
    if (list.hidden) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      choose(chosen + (event.key === "ArrowDown" ? 1 : chosen < 0 ? 0 : -1));
    } else if (event.key === "Enter" && chosen >= 0) {
      event.preventDefault();
      open(list.children[chosen]);
    } else if (event.key === "Escape") {
      close();
    }
  });
  field.addEventListener("blur", close);
}

if (input?.dataset.suggest) suggest(input);
