// The view of all jobs.

import { el, setAttribute, setChildren, setText } from "./dom.js";
import { PagedTable, fillLink, fillState, natural } from "./table.js";
import { cores, count, left, rate, share } from "./text.js";
import { fillWaitBar } from "./wait_bar.js";
import { kindOf, notices } from "./why.js";

const tile = (label) => {
  const value = el("dd", {});
  return { node: el("div", { class: "tile" }, el("dt", {}, label), value), value };
};

export class JobsView {
  constructor() {
    this.title = "Jobs";
    this.tiles = {
      jobs: tile("Jobs running"),
      workers: tile("Workers ready"),
      cores: tile("Cores granted"),
      asked: tile("Cores asked for"),
      rate: tile("Samples a second"),
      wait: tile("Mean waiting"),
    };
    this.notices = el("ul", { class: "notices", role: "status" });
    this.table = new PagedTable({
      id: "jobs",
      caption: "Jobs",
      noun: "job",
      empty: "No job is open. A program opens one with: headrace run python train.py",
      sort: "wait",
      descending: true,
      words: (job) => `${job.job} ${job.name} ${job.hostname} ${job.state} ${job.tenant} ${job.group} ${job.advice}`,
      columns: [
        {
          key: "job",
          label: "Job",
          heading: true,
          value: (job) => (job.order ??= natural(job.name)),
          fill: (cell, job) =>
            fillLink(
              cell,
              `#jobs/${job.job}`,
              job.name || `job ${job.job}`,
              `job ${job.job}${job.rank >= 0 ? `, rank ${job.rank}` : ""} on ${job.hostname}`,
            ),
        },
        {
          key: "state",
          label: "State",
          value: (job) => job.state,
          fill: (cell, job) => fillState(cell, job.state, kindOf(job.state)),
        },
        {
          key: "wait",
          label: "Waits",
          numeric: true,
          class: "wait",
          value: (job) => job.wait_share,
          fill: fillWaitBar,
        },
        {
          key: "cores",
          label: "Cores",
          numeric: true,
          value: (job) => job.granted_cores,
          text: (job) => `${cores(job.granted_cores)} of ${cores(job.demand_cores)}`,
        },
        {
          key: "rate",
          label: "Samples/s",
          numeric: true,
          value: (job) => job.samples_per_second,
          text: (job) => rate(job.samples_per_second),
        },
        { key: "left", label: "Left", numeric: true, value: (job) => left(job)[1], text: (job) => left(job)[0] },
        {
          key: "advice",
          label: "What would help",
          class: "advice",
          value: (job) => job.advice,
          text: (job) => job.advice || "–",
        },
      ],
    });
    this.node = el(
      "section",
      { "aria-labelledby": "jobs-title" },
      el("h2", { id: "jobs-title", tabindex: "-1" }, "Jobs"),
      el("dl", { class: "tiles" }, ...Object.values(this.tiles).map((each) => each.node)),
      this.notices,
      this.table.node,
    );
  }

  update(store) {
    const sums = { granted: 0, asked: 0, rate: 0, wait: 0, waiting: 0, seen: 0 };
    for (const job of store.jobs.rows.values()) {
      sums.granted += job.granted_cores;
      sums.asked += job.demand_cores;
      sums.rate += job.samples_per_second;
      if (job.state !== "running") sums.waiting += 1;
      if (job.wait_shares) {
        sums.wait += job.wait_share;
        sums.seen += 1;
      }
    }
    let ready = 0;
    for (const worker of store.workers.rows.values()) if (worker.state === "ready") ready += 1;
    const { tiles } = this;
    const all = store.jobs.rows.size;
    setText(tiles.jobs.value, `${count(all - sums.waiting)} of ${count(all)}`);
    setText(tiles.workers.value, `${count(ready)} of ${count(store.workers.rows.size)}`);
    setText(tiles.cores.value, `${cores(sums.granted)} of ${cores(store.cluster.ready_cores)}`);
    setText(tiles.asked.value, cores(sums.asked));
    setText(tiles.rate.value, rate(sums.rate));
    setText(tiles.wait.value, sums.seen ? share(sums.wait / sums.seen) : "–");
    const texts = notices(store);
    const made = [...this.notices.children];
    const nodes = texts.map((text, at) => made[at] ?? el("li", {}));
    texts.forEach((text, at) => setText(nodes[at], text));
    setChildren(this.notices, nodes);
    setAttribute(this.notices, "hidden", texts.length ? null : "");
    this.table.update(store.jobs);
  }
}
