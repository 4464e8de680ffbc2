// The view of the pool that workers come from.

import { el, setChildren, setText } from "./dom.js";
import { SmallTable } from "./small_table.js";
import { cores, count, duration, many } from "./text.js";
import { troubleOf } from "./why.js";

const STATES = [
  ["running", "Running", "registered, and at work"],
  ["starting", "Starting", "the engine has started it; it has not registered yet"],
  ["queued", "Queued", "the engine was asked for it"],
  ["waiting", "Waiting", "it ended, and is started again after a pause"],
  ["draining", "Draining", "it finishes what it was asked, and ends"],
  ["lost", "Lost", "its worker is silent"],
];

const HEADS = ["Pool", "State", "Ready", "Starting", "Draining", "Wanted", "At most", "Cores", "A core an hour", "An hour"];

/** What a pool's row says. */
function cellsOf(pool) {
  const price = (value) => (value > 0 ? String(value) : "–");
  const left = pool.passed_over_seconds > 0 ? `, ${duration(pool.passed_over_seconds)} more` : "";
  return [
    `${pool.name} (${pool.kind}${pool.preemptible ? ", pre-emptible" : ""})`,
    `${pool.state}${left}`,
    count(pool.running),
    count(pool.queued + pool.starting + pool.waiting),
    count(pool.draining),
    count(pool.wanted_workers),
    pool.most > 0 ? count(pool.most) : "–",
    cores(pool.cores),
    price(pool.core_price),
    price(pool.cost_per_hour),
  ];
}

/** What stands in the way of pools, with what to do about it; then what is over. */
function troublesOf(pools) {
  const standing = pools.filter((pool) => pool.trouble?.stands);
  const over = pools.filter((pool) => pool.trouble && !pool.trouble.stands);
  return [
    ...standing.map((pool) => `${troubleOf(pool)}: ${pool.trouble.text}. What to do: ${pool.trouble.remedy}.`),
    ...over.map((pool) => `It is over, ${duration(pool.trouble.seconds)} ago: ${troubleOf(pool)}: ${pool.trouble.text}`),
  ];
}

function setItems(list, texts) {
  const made = [...list.children];
  const nodes = texts.map((text, at) => made[at] ?? el("li", {}));
  texts.forEach((text, at) => setText(nodes[at], text));
  setChildren(list, nodes);
}

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
    this.each = new SmallTable("Each pool, the one that is asked first on top", HEADS, [2, 3, 4, 5, 6, 7, 8, 9], true);
    this.troubles = el("ul", { class: "notices" });
    this.reasons = el("ul", { class: "notices" });
    this.why = el("h3", {}, "Why members are not there");
    this.policy = el("p", { class: "muted" });
    this.node = el(
      "section",
      { "aria-labelledby": "pool-title" },
      el("h2", { id: "pool-title", tabindex: "-1" }, "Pool"),
      this.what,
      this.cost,
      this.troubles,
      this.each.node,
      el("h3", {}, "All workers of pools, by state"),
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
    setItems(this.reasons, texts);
    setItems(this.troubles, troublesOf(pool.pools));
    this.each.update(pool.name === "static" ? [] : pool.pools.map(cellsOf));
    setText(
      this.policy,
      `The policy ${cluster.policy} divides ${cores(cluster.ready_cores)} cores. The coordinator has used ${cores(cluster.coordinator_cpu_seconds)} s of CPU.`,
    );
  }
}
