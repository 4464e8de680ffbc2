// The view of data sets, and of what is cached of them.

import { el, setText } from "./dom.js";
import { PagedTable, fillState, natural } from "./table.js";
import { bytes, count, share } from "./text.js";

const phaseOf = (data) => (data.warm ? `${data.phase}, warm` : data.phase);
const kindOfPhase = (phase) => (phase === "steady" ? "good" : phase === "filling" ? "busy" : "none");

export class DataView {
  constructor() {
    this.title = "Data sets";
    this.sum = el("p", { class: "muted" });
    this.table = new PagedTable({
      id: "data",
      caption: "Data sets",
      noun: "data set",
      empty: "No data set is read or cached.",
      sort: "name",
      words: (data) => `${data.name} ${data.form} ${data.phase} ${data.tenant}`,
      columns: [
        {
          key: "name",
          label: "Data set",
          heading: true,
          value: (data) => (data.order ??= natural(data.name)),
          text: (data) => data.name,
        },
        {
          key: "phase",
          label: "Cache",
          value: phaseOf,
          fill: (cell, data) => fillState(cell, phaseOf(data), kindOfPhase(data.phase)),
        },
        {
          key: "cached",
          label: "Cached",
          numeric: true,
          value: (data) => data.cached_bytes,
          text: (data) => `${bytes(data.cached_bytes)} of ${bytes(data.bytes)}`,
        },
        {
          key: "quota",
          label: "Granted",
          numeric: true,
          value: (data) => data.quota_bytes,
          text: (data) => bytes(data.quota_bytes),
        },
        { key: "form", label: "Kept as", value: (data) => data.form, text: (data) => data.form },
        {
          key: "hit",
          label: "Reads answered",
          numeric: true,
          value: (data) => data.hit_share,
          text: (data) =>
            data.hit_share_when_full > data.hit_share + 0.005
              ? `${share(data.hit_share)}, later ${share(data.hit_share_when_full)}`
              : share(data.hit_share),
        },
        {
          key: "samples",
          label: "Samples",
          numeric: true,
          value: (data) => data.samples,
          text: (data) => count(data.samples),
        },
        {
          key: "pinned",
          label: "Pinned",
          value: (data) => (data.pinned ? 1 : 0),
          text: (data) => (data.pinned ? "yes" : "no"),
        },
        { key: "jobs", label: "Jobs", numeric: true, value: (data) => data.job_count, fill: fillJobs },
      ],
    });
    this.node = el(
      "section",
      { "aria-labelledby": "data-title" },
      el("h2", { id: "data-title", tabindex: "-1" }, "Data sets and cache"),
      this.sum,
      this.table.node,
    );
  }

  update(store) {
    let cached = 0;
    let granted = 0;
    let used = 0;
    for (const data of store.datasets.rows.values()) {
      cached += data.cached_bytes;
      granted += data.quota_bytes;
    }
    for (const worker of store.workers.rows.values()) used += worker.cache_bytes;
    setText(
      this.sum,
      `Caches of the workers take ${bytes(used)}; data sets have ${bytes(cached)} of ${bytes(granted)} that were granted.`,
    );
    this.table.update(store.datasets);
  }
}

const SHOWN = 4;

function fillJobs(cell, data) {
  const links = data.jobs.slice(0, SHOWN).flatMap((id, at) => [
    at ? ", " : "",
    el("a", { href: `#jobs/${id}`, "aria-label": `job ${id}` }, String(id)),
  ]);
  const more = data.job_count - Math.min(SHOWN, data.jobs.length);
  cell.replaceChildren(...(links.length ? links : ["–"]), more > 0 ? ` and ${count(more)} more` : "");
}
