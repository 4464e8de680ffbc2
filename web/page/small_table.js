// A table of few rows.

import { el, setChildren } from "./dom.js";

/**
 * Rows of texts, or of { href, text }. They are made anew where one of them has changed. cards: where the screen is
 * narrow, each row is a card.
 */
export class SmallTable {
  constructor(title, heads, numbers, cards = false) {
    this.cards = cards;
    this.numbers = new Set(numbers);
    this.body = el("tbody", {});
    this.said = "";
    const head = (text, at) => el("th", { scope: "col", class: this.numbers.has(at) ? "number" : null }, text);
    this.heads = heads;
    this.node = el(
      "div",
      { class: "block", hidden: true },
      el("h3", {}, title),
      el(
        "div",
        cards ? { class: "listing cards" } : { class: "scroll", tabindex: "0", role: "region", "aria-label": title },
        el("table", { "aria-label": title }, el("thead", {}, el("tr", {}, ...heads.map(head))), this.body),
      ),
    );
  }
  update(rows) {
    const said = JSON.stringify(rows);
    if (said === this.said) return;
    this.said = said;
    this.node.hidden = rows.length === 0;
    setChildren(
      this.body,
      rows.map((cells) =>
        el(
          "tr",
          {},
          ...cells.map((cell, at) =>
            el(
              at ? "td" : "th",
              at
                ? { class: this.numbers.has(at) ? "number" : null, "data-label": this.cards ? this.heads[at] : null }
                : { scope: "row" },
              typeof cell === "string"
                ? this.cards
                  ? el("span", {}, cell)
                  : cell
                : el("a", { href: cell.href }, cell.text),
            ),
          ),
        ),
      ),
    );
  }
}
