// @ts-check
// Shows times in the zone of the viewer, if that is chosen; the HTML has them in UTC.
const key = "counterfoil.times";
const label = /** @type {HTMLElement | null} */ (document.querySelector("[data-times]"));
const select = label?.querySelector("select");
/** @type {Map<HTMLTimeElement, string>} */
const utc = new Map();

/** @param {number} value @param {number} [width] */
const padded = (value, width = 2) => String(value).padStart(width, "0");

/** @param {Date} when */
function local(when) {
  const offset = -when.getTimezoneOffset();
  const size = Math.abs(offset);
  const zone = `${offset < 0 ? "−" : "+"}${padded(Math.floor(size / 60))}:${padded(size % 60)}`;
  const day = `${padded(when.getFullYear(), 4)}-${padded(when.getMonth() + 1)}-${padded(when.getDate())}`;
  return `${day} ${padded(when.getHours())}:${padded(when.getMinutes())}:${padded(when.getSeconds())} ${zone}`;
}

/** @param {Date} when */
function ago(when) {
  const seconds = (Date.now() - when.getTime()) / 1000;
  /** @type {[number, Intl.RelativeTimeFormatUnit][]} */
  const units = [[31557600, "year"], [2629800, "month"], [86400, "day"], [3600, "hour"], [60, "minute"], [1, "second"]];
  const [size, unit] = units.find(([each]) => Math.abs(seconds) >= each) ?? [1, "second"];
  return new Intl.RelativeTimeFormat("en", { numeric: "auto" }).format(-Math.round(seconds / size), unit);
}

/** @param {boolean} isLocal */
function show(isLocal) {
  for (const time of document.querySelectorAll("time")) {
    const when = new Date(time.dateTime);
    if (Number.isNaN(when.getTime())) continue;
    const first = utc.get(time) ?? time.textContent ?? "";
    utc.set(time, first);
    time.textContent = isLocal ? local(when) : first;
    time.title = `${ago(when)}; ${isLocal ? `${first} UTC` : local(when)}`;
  }
}

/** @returns {string} */
function stored() {
  try {
    return localStorage.getItem(key) ?? "";
  } catch {
    return "";
  }
}

if (label && select) {
  select.value = stored();
  show(select.value === "local");
  select.addEventListener("change", () => {
    show(select.value === "local");
    try {
      localStorage.setItem(key, select.value);
    } catch {
      // A browser that stores nothing keeps the choice for this page.
    }
  });
}
