// The view of one worker.

import { confirmAction } from "./actions.js";
import { el, setText } from "./dom.js";
import { SmallTable } from "./small_table.js";
import { getJson } from "./stream.js";
import { bytes, cores, count, duration, many, rate, share } from "./text.js";

const AGAIN_MS = 5000;

const fact = (label) => {
  const value = el("dd", {});
  return { node: el("div", {}, el("dt", {}, label), value), value };
};

export class WorkerView {
  constructor(id) {
    this.id = Number(id);
    this.asked = -Infinity;
    this.title = `Worker ${id}`;
    this.heading = el("h2", { id: "worker-title", tabindex: "-1" }, this.title);
    this.sub = el("p", { class: "muted" });
    this.reason = el("p", { class: "sentence" });
    this.facts = {
      cores: fact("Cores"),
      speed: fact("Speed"),
      hits: fact("From the cache"),
      memory: fact("Memory"),
      seen: fact("Last heard of"),
      place: fact("Place"),
    };
    this.jobs = new SmallTable("Jobs that it serves", ["Job", "State"], []);
    this.tiers = new SmallTable(
      "Its cache",
      ["Tier", "Size", "Used", "Entries", "Hits", "Misses"],
      [1, 2, 3, 4, 5],
    );
    this.drain = el(
      "button",
      { type: "button", class: "danger", hidden: true, onclick: () => this.#drain() },
      "Drain the worker",
    );
    this.done = el("p", { role: "status" });
    this.node = el(
      "section",
      { "aria-labelledby": "worker-title" },
      el("p", {}, el("a", { href: "#workers" }, "All workers")),
      this.heading,
      this.sub,
      this.reason,
      el("dl", { class: "facts" }, ...Object.values(this.facts).map((each) => each.node)),
      this.jobs.node,
      this.tiers.node,
      this.drain,
      this.done,
    );
  }

  update(store) {
    const worker = store.workers.rows.get(this.id);
    if (!worker) {
      setText(this.reason, "There is no such worker any more.");
      this.drain.hidden = true;
      return;
    }
    setText(this.heading, `Worker ${worker.worker} on ${worker.hostname}`);
    this.title = this.heading.textContent;
    setText(this.sub, `pid ${worker.pid}, ${worker.state}${worker.local ? ", started by a program for itself" : ""}`);
    setText(this.reason, worker.reason ? `${worker.reason}.` : "");
    const { facts } = this;
    const busy = worker.busy_cores === null ? "–" : cores(worker.busy_cores);
    setText(facts.cores.value, `${busy} busy of ${cores(worker.cores)}`);
    setText(
      facts.speed.value,
      `${rate(worker.samples_per_second)} samples a second; ${many(worker.queued_samples, "sample waits", "samples wait")} for a thread`,
    );
    setText(facts.hits.value, worker.hit_share === null ? "nothing was read of late" : `${share(worker.hit_share)} of its reads`);
    setText(facts.memory.value, `${bytes(worker.resident_bytes)}, of it ${bytes(worker.cache_bytes)} for the cache`);
    setText(facts.seen.value, worker.silent_ms < 2000 ? "just now" : `${duration(worker.silent_ms / 1000)} ago`);
    const place = [worker.rack && `rack ${worker.rack}`, worker.member && `${worker.member} of the pool`];
    setText(facts.place.value, place.filter(Boolean).join(", ") || "–");
    this.drain.hidden = worker.state !== "ready" || !store.actions.includes("drain");
    if (performance.now() - this.asked >= AGAIN_MS) this.#ask(store);
  }

  async #ask(store) {
    this.asked = performance.now();
    let told;
    try {
      told = (await getJson(`/api/workers/${this.id}`)).worker;
    } catch {
      return; // as in the view of a job
    }
    this.jobs.update(
      told.jobs.slice(0, 200).map((id) => {
        const job = store.jobs.rows.get(id);
        return [{ href: `#jobs/${id}`, text: job ? `${id} ${job.name}` : `job ${id}` }, job?.state ?? "–"];
      }),
    );
    this.tiers.update(
      told.cache_tiers.map((tier) => [
        tier.tier,
        bytes(tier.budget_bytes),
        bytes(tier.bytes),
        count(tier.entries),
        count(tier.hits),
        count(tier.misses),
      ]),
    );
  }

  async #drain() {
    const told = await confirmAction({
      title: `Drain worker ${this.id}?`,
      text: "It takes nothing new, finishes what it was asked, and leaves. No batch is lost.",
      verb: "Drain the worker",
      path: `/api/workers/${this.id}/drain`,
    });
    if (told !== null) setText(this.done, `Done: ${told}.`);
  }
}
