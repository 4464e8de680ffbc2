// The view of all workers.

import { el } from "./dom.js";
import { PagedTable, fillLink, fillState, natural } from "./table.js";
import { bytes, cores, count, rate, share } from "./text.js";
import { kindOf } from "./why.js";

export class WorkersView {
  constructor() {
    this.title = "Workers";
    this.table = new PagedTable({
      id: "workers",
      caption: "Workers",
      noun: "worker",
      empty: "No worker has registered. Start one with: headrace worker --coordinator ADDRESS",
      sort: "worker",
      words: (worker) =>
        `${worker.worker} ${worker.hostname} ${worker.state} ${worker.member} ${worker.rack} ${worker.reason}`,
      columns: [
        {
          key: "worker",
          label: "Worker",
          heading: true,
          value: (worker) => (worker.order ??= natural(worker.hostname)),
          fill: (cell, worker) =>
            fillLink(
              cell,
              `#workers/${worker.worker}`,
              worker.hostname || `worker ${worker.worker}`,
              `worker ${worker.worker}${worker.local ? ", a program's own" : ""}`,
            ),
        },
        {
          key: "state",
          label: "State",
          value: (worker) => worker.state,
          fill: (cell, worker) => fillState(cell, worker.state, kindOf(worker.state)),
        },
        {
          key: "busy",
          label: "Cores busy",
          numeric: true,
          value: (worker) => worker.busy_cores ?? -1,
          text: (worker) =>
            worker.busy_cores === null
              ? `– of ${cores(worker.cores)}`
              : `${cores(worker.busy_cores)} of ${cores(worker.cores)}`,
        },
        {
          key: "jobs",
          label: "Jobs",
          numeric: true,
          value: (worker) => worker.job_count,
          text: (worker) => count(worker.job_count),
        },
        {
          key: "rate",
          label: "Samples/s",
          numeric: true,
          value: (worker) => worker.samples_per_second ?? -1,
          text: (worker) => rate(worker.samples_per_second),
        },
        {
          key: "hits",
          label: "From the cache",
          numeric: true,
          value: (worker) => worker.hit_share ?? -1,
          text: (worker) => share(worker.hit_share),
        },
        {
          key: "memory",
          label: "Memory",
          numeric: true,
          value: (worker) => worker.resident_bytes,
          text: (worker) => bytes(worker.resident_bytes),
        },
        {
          key: "cache",
          label: "Cache",
          numeric: true,
          value: (worker) => worker.cache_bytes,
          text: (worker) => bytes(worker.cache_bytes),
        },
        {
          key: "reason",
          label: "Note",
          class: "advice",
          value: (worker) => worker.reason,
          text: (worker) => worker.reason || "–",
        },
      ],
    });
    this.node = el(
      "section",
      { "aria-labelledby": "workers-title" },
      el("h2", { id: "workers-title", tabindex: "-1" }, "Workers"),
      this.table.node,
    );
  }

  update(store) {
    this.table.update(store.workers);
  }
}
