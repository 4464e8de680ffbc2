// Charts of the last hour: areas that add up, or lines. Each says in words what it shows, and has a table.

import { el, setAttribute, setChildren, setText, svg } from "./dom.js";
import { duration } from "./text.js";

const WIDTH = 720;
const HEIGHT = 180;
const TABLE_ROWS = 12;

/** Finite numbers alone. */
const known = (list) => list.filter((value) => value !== null && Number.isFinite(value));
const mean = (list) => (list.length ? list.reduce((sum, value) => sum + value, 0) / list.length : null);

function niceTop(most) {
  if (!(most > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 2.5, 5, 10].map((step) => step * power).find((top) => top >= most * 1.0001) ?? most;
}

/**
 * id, title, series: [{ key, name }], stacked, unit(value) for people, least: that the scale goes up to.
 */
export class Chart {
  constructor({ id, title, series, stacked = false, unit, least = 0 }) {
    Object.assign(this, { series, stacked, unit, least });
    this.data = null;
    this.paths = series.map((each) =>
      svg("path", { class: stacked ? "area" : "line", "data-series": each.key }),
    );
    this.grid = svg("g", { class: "grid" });
    this.cursor = svg("line", { class: "cursor", y1: 0, y2: HEIGHT, visibility: "hidden" });
    this.drawing = svg(
      "svg",
      {
        viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
        preserveAspectRatio: "none",
        role: "img",
        "aria-labelledby": `${id}-title ${id}-words`,
      },
      this.grid,
      ...this.paths,
      this.cursor,
    );
    this.high = el("span", { class: "axis high", "aria-hidden": "true" });
    this.start = el("span", { class: "axis start", "aria-hidden": "true" });
    this.words = el("p", { id: `${id}-words`, class: "muted words" });
    this.pointed = el("p", { class: "muted pointed", "aria-hidden": "true" });
    this.head = el("tr", {}, el("th", { scope: "col" }, "Minutes ago"));
    for (const each of series) this.head.append(el("th", { scope: "col", class: "number" }, each.name));
    this.body = el("tbody", {});
    this.details = el(
      "details",
      { ontoggle: () => this.#table() },
      el("summary", {}, "As a table"),
      el(
        "div",
        { class: "scroll", tabindex: "0", role: "region", "aria-label": `${title}, as a table` },
        el("table", {}, el("caption", { class: "unseen" }, title), el("thead", {}, this.head), this.body),
      ),
    );
    this.node = el(
      "figure",
      {},
      el("figcaption", { id: `${id}-title` }, title),
      el(
        "ul",
        { class: "legend" },
        ...series.map((each) =>
          el(
            "li",
            {},
            el("span", { class: "key", "data-series": each.key, "aria-hidden": "true" }),
            each.name,
          ),
        ),
      ),
      el(
        "div",
        { class: "plot", onpointermove: (event) => this.#point(event), onpointerleave: () => this.#point(null) },
        this.drawing,
        this.high,
        el("span", { class: "axis low", "aria-hidden": "true" }, "0"),
        this.start,
        el("span", { class: "axis end", "aria-hidden": "true" }, "now"),
      ),
      this.pointed,
      this.words,
      this.details,
    );
  }

  /** lists: by series key, equally long, oldest first; null: not known. `seconds`: between two values. */
  update(lists, seconds) {
    const values = this.series.map((each) => lists[each.key] ?? []);
    const length = Math.max(2, ...values.map((list) => list.length));
    const sums = Array.from({ length }, (_, at) =>
      values.reduce((sum, list) => sum + (list[at] ?? 0), 0),
    );
    const most = this.stacked ? Math.max(...sums) : Math.max(0, ...values.flatMap(known));
    const top = Math.min(niceTop(Math.max(most, this.least)), this.stacked ? 1 : Infinity);
    this.data = { values, length, seconds, top };
    const x = (at) => ((at / (length - 1)) * WIDTH).toFixed(1);
    const y = (value) => (HEIGHT - (Math.min(value, top) / top) * HEIGHT).toFixed(1);
    const below = new Array(length).fill(0);
    values.forEach((list, index) => {
      setAttribute(this.paths[index], "d", this.stacked ? area(list, below, length, x, y) : line(list, x, y));
    });
    setChildren(
      this.grid,
      [0.25, 0.5, 0.75].map(
        (part, at) =>
          this.grid.childNodes[at] ?? svg("line", { x1: 0, x2: WIDTH, y1: part * HEIGHT, y2: part * HEIGHT }),
      ),
    );
    setText(this.high, this.unit(top));
    setText(this.start, `${duration((length - 1) * seconds)} ago`);
    setText(this.words, this.#inWords(values, seconds));
    this.#table();
  }

  #inWords(values, seconds) {
    const steps = Math.max(1, Math.round(300 / seconds));
    const parts = this.series
      .map((each, at) => [each.name, mean(known(values[at].slice(-steps))), mean(known(values[at]))])
      .filter(([, late, all]) => late !== null || all !== null)
      .filter(([, late, all]) => !this.stacked || (late ?? 0) >= 0.005 || (all ?? 0) >= 0.005)
      .map(([name, late, all]) => `${name} ${late === null ? "unknown" : this.unit(late)} (${this.unit(all)})`);
    if (!parts.length) return values.some((list) => known(list).length) ? "Next to nothing." : "Nothing is known yet.";
    return `Mean of the last 5 minutes (and of all that is shown): ${parts.join(", ")}.`;
  }

  #table() {
    if (!this.details.open || !this.data) return;
    const { values, length, seconds } = this.data;
    const each = Math.max(1, Math.ceil(length / TABLE_ROWS));
    const rows = [];
    for (let end = length; end > 0; end -= each) {
      const begin = Math.max(0, end - each);
      const ago = Math.round(((length - end) * seconds) / 60);
      const until = Math.round(((length - begin) * seconds) / 60);
      rows.push([
        `${ago} to ${until}`,
        ...values.map((list) => {
          const found = mean(known(list.slice(begin, end)));
          return found === null ? "–" : this.unit(found);
        }),
      ]);
    }
    const made = [...this.body.children];
    setChildren(
      this.body,
      rows.map((cells, at) => {
        const tr =
          made[at] ??
          el("tr", {}, ...cells.map((_, i) => el(i ? "td" : "th", i ? { class: "number" } : { scope: "row" })));
        cells.forEach((text, i) => setText(tr.children[i], text));
        return tr;
      }),
    );
  }

  #point(event) {
    if (!event || !this.data) {
      this.cursor.setAttribute("visibility", "hidden");
      setText(this.pointed, "");
      return;
    }
    const { values, length, seconds } = this.data;
    const box = this.drawing.getBoundingClientRect();
    const at = Math.round(Math.min(1, Math.max(0, (event.clientX - box.left) / box.width)) * (length - 1));
    const x = (at / (length - 1)) * WIDTH;
    setAttribute(this.cursor, "x1", x);
    setAttribute(this.cursor, "x2", x);
    this.cursor.setAttribute("visibility", "visible");
    const parts = this.series
      .map((each, index) => [each.name, values[index][at]])
      .filter(([, value]) => value !== null && value !== undefined && (!this.stacked || value >= 0.005))
      .map(([name, value]) => `${name} ${this.unit(value)}`);
    const ago = ((length - 1 - at) * seconds) / 60;
    setText(this.pointed, `${ago.toFixed(ago < 10 ? 1 : 0)} min ago: ${parts.join(", ") || "nothing known"}`);
  }
}

function line(list, x, y) {
  let path = "";
  let pen = false;
  list.forEach((value, at) => {
    const there = value !== null && Number.isFinite(value);
    if (there) path += `${pen ? "L" : "M"}${x(at)} ${y(value)}`;
    pen = there;
  });
  return path;
}

/** Adds the list to `below`, and outlines what is between. */
function area(list, below, length, x, y) {
  let up = "";
  let down = "";
  for (let at = 0; at < length; at += 1) {
    const under = below[at];
    below[at] += list[at] ?? 0;
    up += `${at ? "L" : "M"}${x(at)} ${y(below[at])}`;
    down = `L${x(at)} ${y(under)}${down}`;
  }
  return `${up}${down}Z`;
}
