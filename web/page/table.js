// A table of thousands of rows, of which a page of fifty is in the document.

import { el, setAttribute, setChildren, setText } from "./dom.js";
import { count } from "./text.js";

const ROWS = 50;
const REORDER_MS = 5000; // rows that move each second can't be read

const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

/** What orders "node10" behind "node9": a collator that does takes ten times as long for 10,000 rows. */
export const natural = (text) =>
  text.toLowerCase().replace(/\d+/g, (digits) => digits.padStart(12, "0"));

/**
 * columns: [{ key, label, numeric, value(row) for sorting, text(row), or fill(cell, row), heading: true for the cell
 * that names the row }]; `words(row)`: what the filter looks in; `name(row)`: one row's class.
 */
export class PagedTable {
  constructor({ id, caption, columns, words, sort, descending = false, empty, noun }) {
    Object.assign(this, { columns, words, sort, descending, noun, emptyText: empty });
    this.page = 0;
    this.filter = "";
    this.keys = [];
    this.rows = new Map(); // key -> { tr, cells }
    this.seen = { version: -1, members: -1 };
    this.ordered = 0;
    this.table = null;

    this.search = el("input", {
      type: "search",
      id: `${id}-filter`,
      autocomplete: "off",
      spellcheck: "false",
      oninput: () => {
        this.filter = this.search.value.trim().toLowerCase();
        this.page = 0;
        this.#again();
      },
    });
    this.found = el("p", { class: "muted", role: "status" });
    this.heads = columns.map((column) => this.#head(column));
    this.body = el("tbody", { role: "rowgroup" });
    this.grid = el(
      "table",
      { role: "table" },
      el("caption", { class: "unseen" }, caption),
      el(
        "thead",
        { role: "rowgroup" },
        el("tr", { role: "row" }, ...this.heads.map((head) => head.th)),
      ),
      this.body,
    );
    this.none = el("p", { class: "empty" });
    this.back = el("button", { type: "button", onclick: () => this.#turn(-1) }, "Previous");
    this.next = el("button", { type: "button", onclick: () => this.#turn(1) }, "Next");
    this.place = el("span", {});
    this.pager = el(
      "nav",
      { class: "pager", "aria-label": `Pages of ${caption.toLowerCase()}` },
      this.back,
      this.place,
      this.next,
    );
    this.node = el(
      "div",
      { class: "listing" },
      el(
        "div",
        { class: "tools" },
        el("label", { for: this.search.id }, `Filter ${noun}s`),
        this.search,
        this.found,
      ),
      this.grid,
      this.none,
      this.pager,
    );
  }

  #head(column) {
    const button = el(
      "button",
      {
        type: "button",
        onclick: () => {
          if (this.sort === column.key) this.descending = !this.descending;
          else {
            this.sort = column.key;
            this.descending = Boolean(column.numeric);
          }
          this.page = 0;
          this.#again();
        },
      },
      column.label,
    );
    const th = el(
      "th",
      { scope: "col", role: "columnheader", class: column.numeric ? "number" : null },
      button,
    );
    return { th, column };
  }

  #turn(by) {
    this.page += by;
    this.#again();
    this.node.scrollIntoView({ block: "start" });
  }

  /** What the user asked for: at once. */
  #again() {
    this.ordered = 0;
    if (this.table) this.update(this.table);
  }

  /** Shows a table of the store; does nothing where it has not changed. */
  update(table) {
    const now = performance.now();
    const moved = table !== this.table || table.members !== this.seen.members || this.ordered === 0;
    const held = this.body.contains(document.activeElement) || this.body.matches(":hover");
    const due = now - this.ordered > REORDER_MS && table.version !== this.seen.version && !held;
    this.table = table;
    if (moved || due) this.#order(table, now);
    if (moved || due || table.version !== this.seen.version) this.#show(table);
    this.seen = { version: table.version, members: table.members };
  }

  #order(table, now) {
    this.ordered = now;
    const column = this.columns.find((each) => each.key === this.sort);
    const found = [];
    for (const [key, row] of table.rows) {
      if (this.filter) {
        row.words ??= this.words(row).toLowerCase();
        if (!row.words.includes(this.filter)) continue;
      }
      found.push([column.value(row), key]);
    }
    const sign = this.descending ? -1 : 1;
    found.sort((a, b) => sign * compare(a[0], b[0]) || compare(a[1], b[1]));
    this.keys = found.map((each) => each[1]);
  }

  #show(table) {
    const pages = Math.max(1, Math.ceil(this.keys.length / ROWS));
    this.page = Math.min(Math.max(this.page, 0), pages - 1);
    const first = this.page * ROWS;
    const keys = this.keys.slice(first, first + ROWS);
    const nodes = [];
    const shown = new Map();
    // Elements of rows that are not shown any more serve others.
    const there = new Set(keys);
    const free = [...this.rows].filter(([key]) => !there.has(key)).map(([, made]) => made);
    for (const key of keys) {
      const row = table.rows.get(key);
      if (!row) continue;
      const made = this.rows.get(key) ?? free.pop() ?? this.#make();
      this.#fill(made, row);
      shown.set(key, made);
      nodes.push(made.tr);
    }
    this.rows = shown;
    setChildren(this.body, nodes);
    for (const { th, column } of this.heads) {
      const direction = this.descending ? "descending" : "ascending";
      setAttribute(th, "aria-sort", column.key === this.sort ? direction : null);
    }
    const all = table.rows.size;
    const nouns = `${this.noun}${all === 1 ? "" : "s"}`;
    setText(
      this.found,
      this.filter ? `${count(this.keys.length)} of ${count(all)} ${nouns}` : `${count(all)} ${nouns}`,
    );
    setText(this.none, all === 0 ? this.emptyText : `No ${this.noun} has these words.`);
    this.none.hidden = this.keys.length > 0;
    this.grid.hidden = this.keys.length === 0;
    this.pager.hidden = pages === 1;
    setText(this.place, `${count(first + 1)} to ${count(first + keys.length)} of ${count(this.keys.length)}`);
    this.back.disabled = this.page === 0;
    this.next.disabled = this.page >= pages - 1;
  }

  #make() {
    const cells = this.columns.map((column) =>
      el(column.heading ? "th" : "td", {
        scope: column.heading ? "row" : null,
        role: column.heading ? "rowheader" : "cell",
        class: [column.numeric ? "number" : "", column.class ?? ""].join(" ").trim() || null,
        "data-label": column.label,
      }),
    );
    return { tr: el("tr", { role: "row" }, ...cells), cells };
  }

  #fill(made, row) {
    if (made.row === row) return;
    made.row = row;
    this.columns.forEach((column, at) => {
      if (column.fill) column.fill(made.cells[at], row);
      else setText(made.cells[at], column.text(row));
    });
  }
}

/** A cell with a link: made once. */
export function fillLink(cell, href, text, more = "") {
  let link = cell.firstChild;
  if (!link) {
    link = el("a", {});
    cell.append(link, el("span", { class: "muted more" }));
  }
  setAttribute(link, "href", href);
  setText(link, text);
  setText(cell.lastChild, more);
}

/** A word with a mark whose shape tells it, too. */
export function fillState(cell, state, kind) {
  if (!cell.firstChild) cell.append(el("span", { class: "state" }));
  setText(cell.firstChild, state);
  setAttribute(cell.firstChild, "data-kind", kind);
}
