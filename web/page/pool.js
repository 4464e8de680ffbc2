// The view of the pool that workers come from.

import { el, setChildren, setText } from "./dom.js";
import { cores, count, many } from "./text.js";

const STATES = [
  ["running", "Running", "registered, and at work"],
  ["starting", "Starting", "the engine has started it; it has not registered yet"],
  ["queued", "Queued", "the engine was asked for it"],
  ["waiting", "Waiting", "it ended, and is started again after a pause"],
  ["draining", "Draining", "it finishes what it was asked, and ends"],
  ["lost", "Lost", "its worker is silent"],
];

export class PoolView {
  constructor() {
    this.title = "Pool";
    this.what = el("p", {});
    this.cost = el("p", {});
    this.cells = {};
    const rows = STATES.map(([key, name, help]) => {
      this.cells[key] = el("td", { class: "number" });
      return el("tr", {}, el("th", { scope: "row" }, name), this.cells[key], el("td", {}, help));
    });
    this.reasons = el("ul", { class: "notices" });
    this.why = el("h3", {}, "Why members are not there");
    this.policy = el("p", { class: "muted" });
    this.node = el(
      "section",
      { "aria-labelledby": "pool-title" },
      el("h2", { id: "pool-title", tabindex: "-1" }, "Pool"),
      this.what,
      this.cost,
      el(
        "div",
        { class: "scroll", tabindex: "0", role: "region", "aria-label": "Members of the pool" },
        el(
          "table",
          { class: "narrow" },
          el("caption", { class: "unseen" }, "Members of the pool by state"),
          el(
            "thead",
            {},
            el(
              "tr",
              {},
              el("th", { scope: "col" }, "State"),
              el("th", { scope: "col", class: "number" }, "Members"),
              el("th", { scope: "col" }, "It means"),
            ),
          ),
          el("tbody", {}, ...rows),
        ),
      ),
      this.why,
      this.reasons,
      this.policy,
    );
  }

  update(store) {
    const { pool, cluster } = store;
    const ask = pool.most > 0 ? `${many(pool.wanted, "member is", "members are")} wanted of at most ${count(pool.most)}, at least ${count(pool.least)}.` : "";
    setText(
      this.what,
      pool.name === "static"
        ? "Nobody starts workers here: they come by themselves (--pool static)."
        : `Workers come from ${pool.name}. ${ask}`,
    );
    setText(
      this.cost,
      pool.core_price > 0
        ? `Its members have ${cores(pool.cores)} cores, which cost ${cores(pool.cores * pool.core_price)} an hour (${pool.core_price} a core).`
        : `Its members have ${cores(pool.cores)} cores. What they cost is not known; --core-price tells it.`,
    );
    this.cost.hidden = pool.name === "static";
    for (const [key] of STATES) setText(this.cells[key], count(pool[key]));
    this.why.hidden = pool.reasons.length === 0;
    const texts = pool.reasons.map((each) => `${many(each.members, "member")}: ${each.text}`);
    const made = [...this.reasons.children];
    const nodes = texts.map((text, at) => made[at] ?? el("li", {}));
    texts.forEach((text, at) => setText(nodes[at], text));
    setChildren(this.reasons, nodes);
    setText(
      this.policy,
      `The policy ${cluster.policy} divides ${cores(cluster.ready_cores)} cores. The coordinator has used ${cores(cluster.coordinator_cpu_seconds)} s of CPU.`,
    );
  }
}
