// The view of one job.

import { confirmAction } from "./actions.js";
import { CAUSES } from "./causes.js";
import { Chart } from "./charts.js";
import { el, setAttribute, setText } from "./dom.js";
import { SmallTable } from "./small_table.js";
import { getJson } from "./stream.js";
import { cores, count, duration, left, many, rate, share } from "./text.js";
import { cacheOf, coresOf, linksOf, sourceOf, whyCores } from "./why.js";

const AGAIN_MS = 5000; // a step of the history

const fact = (label) => {
  const value = el("dd", {});
  return { node: el("div", {}, el("dt", {}, label), value), value };
};

export class JobView {
  constructor(id) {
    this.id = Number(id);
    this.asked = -Infinity;
    this.heading = el("h2", { id: "job-title", tabindex: "-1" }, `Job ${id}`);
    this.title = `Job ${id}`;
    this.sub = el("p", { class: "muted" });
    this.advice = el("p", { class: "sentence" });
    this.facts = {
      cores: fact("Cores"),
      why: fact("Why not more"),
      cache: fact("Cache"),
      source: fact("Source"),
      links: fact("Network"),
      speed: fact("Speed"),
      left: fact("Left"),
      who: fact("Tenant"),
    };
    const percent = (value) => share(value);
    this.told = "";
    this.waits = new Chart({
      id: "waits",
      title: "What the trainer waited for, in the last hour (part of its time)",
      series: CAUSES,
      stacked: true,
      unit: percent,
      least: 0.09,
    });
    this.speed = new Chart({
      id: "speed",
      title: "Samples a second",
      series: [{ key: "samples_per_second", name: "Samples/s" }],
      unit: rate,
    });
    this.given = new Chart({
      id: "given",
      title: "Cores",
      series: [
        { key: "granted_cores", name: "Granted" },
        { key: "demand_cores", name: "Asked for" },
      ],
      unit: cores,
    });
    this.workers = new SmallTable("Workers that serve it", ["Worker", "State", "Where"], []);
    this.unfit = new SmallTable("Workers that can't serve it", ["Worker", "Why"], []);
    this.sessions = new SmallTable(
      "Loaders",
      ["Loader", "Batches", "Samples", "From the cache", "Waited", "Trained", "Ready batches"],
      [1, 2, 3, 4, 5, 6],
    );
    this.bad = new SmallTable("Bad samples, the last of them", ["Sample", "Why", "Times"], [2]);
    const button = (text, order) =>
      el("button", { type: "button", hidden: true, onclick: () => this.#order(order) }, text);
    this.orders = {
      cancel: button("Take its workers", "cancel"),
      resume: button("Give it workers again", "resume"),
      priority: button("Change its priority", "priority"),
    };
    this.orders.cancel.classList.add("danger");
    this.done = el("p", { role: "status" });
    this.node = el(
      "section",
      { "aria-labelledby": "job-title" },
      el("p", {}, el("a", { href: "#jobs" }, "All jobs")),
      this.heading,
      this.sub,
      this.advice,
      el("h3", {}, "What it was granted"),
      el("dl", { class: "facts" }, ...Object.values(this.facts).map((each) => each.node)),
      el("h3", {}, "The last hour"),
      this.waits.node,
      el("div", { class: "pair" }, this.speed.node, this.given.node),
      this.unfit.node,
      this.workers.node,
      this.sessions.node,
      this.bad.node,
      el("div", { class: "orders" }, ...Object.values(this.orders)),
      this.done,
    );
  }

  update(store) {
    const job = store.jobs.rows.get(this.id);
    if (!job) {
      setText(this.advice, "There is no such job any more.");
      for (const each of Object.values(this.orders)) each.hidden = true;
      return;
    }
    setText(this.heading, `Job ${job.job}: ${job.name}`);
    this.title = this.heading.textContent;
    const rank = job.rank >= 0 ? `rank ${job.rank} of ${job.group}, ` : "";
    setText(
      this.sub,
      `${rank}pid ${job.pid} on ${job.hostname}, ${job.state}, for ${duration((store.wall_ms - job.opened_ms) / 1000)}`,
    );
    setText(this.advice, job.advice ? `It ${job.advice}.` : "What would help is not known yet.");
    const { facts } = this;
    setText(facts.cores.value, `${coresOf(job)}; on ${many(job.worker_count, "worker")}`);
    setText(facts.why.value, whyCores(job, store, this.told));
    setText(facts.cache.value, cacheOf(job));
    setText(facts.source.value, sourceOf(job));
    setText(facts.links.value, linksOf(job));
    const ready = job.samples_per_second_when_ready;
    setText(
      facts.speed.value,
      `${rate(job.samples_per_second)} samples a second` +
        (ready > 0 ? `; its trainer would take ${rate(ready)} with data always ready` : ""),
    );
    setText(
      facts.left.value,
      job.remaining_samples === null
        ? "not known; headrace run --epochs N tells it"
        : `${left(job)[0]}, ${many(job.remaining_samples, "sample")}`,
    );
    setText(facts.who.value, `${job.tenant || "default"}, priority ${job.priority}`);
    const cancelled = job.state.includes("cancelled");
    for (const [name, each] of Object.entries(this.orders)) {
      each.hidden = !store.actions.includes(name) || (name !== "priority" && (name === "cancel") === cancelled);
    }
    this.priority = job.priority;
    if (performance.now() - this.asked >= AGAIN_MS) this.#ask(store);
  }

  async #ask(store) {
    this.asked = performance.now();
    let told;
    try {
      told = await getJson(`/api/jobs/${this.id}`);
    } catch {
      return; // the stream says what is wrong, and the next try is soon
    }
    const { job, history } = told;
    this.told = job.why?.text ?? "";
    if (history) {
      this.waits.update(history.wait_share, history.step_seconds);
      this.speed.update(history, history.step_seconds);
      this.given.update(history, history.step_seconds);
    }
    const name = (id) => ({ href: `#workers/${id}`, text: `worker ${id}` });
    const where = (id) => store.workers.rows.get(id);
    this.workers.update(
      job.workers.slice(0, 200).map((id) => {
        const worker = where(id);
        return [name(id), worker?.state ?? "–", worker ? `${worker.hostname}${worker.local ? ", its own host's" : ""}` : "–"];
      }),
    );
    this.unfit.update(job.unfit.map((each) => [name(each.worker), each.reason]));
    this.sessions.update(
      job.sessions.map((each, at) => {
        const made = each.hit_samples + each.miss_samples;
        // Stages look for leaves, several for a sample or none: the data set's row has their hits.
        const looked = each.decoded_hits + each.encoded_hits + each.misses > 0;
        return [
          `${at + 1}`,
          count(each.batches),
          count(each.samples),
          made && looked ? share(each.hit_samples / made) : "–",
          duration(each.stall_seconds),
          duration(each.step_seconds),
          `${count(each.ready_batches)} of ${count(each.window_batches)}`,
        ];
      }),
    );
    this.bad.update(
      job.bad_samples.map((each) => [
        each.name ? `${each.name}, sample ${each.row}` : `sample ${each.row}`,
        `${each.cause}${each.held_back ? "; no worker is given it" : ""}`,
        count(each.times),
      ]),
    );
    setAttribute(this.node, "data-filled", "");
  }

  async #order(name) {
    const about = {
      cancel: {
        title: `Take the workers of job ${this.id}?`,
        text: "It gets none any more, nor do the other ranks of its group. Its program goes on without, and makes its samples itself.",
        verb: "Take its workers",
      },
      resume: {
        title: `Give job ${this.id} workers again?`,
        text: "The coordinator divides workers with it, as before it was cancelled.",
        verb: "Give it workers",
      },
      priority: {
        title: `Change the priority of job ${this.id}?`,
        text: "A job of a higher priority is served first, with the other ranks of its group.",
        verb: "Set the priority",
        number: { label: "Priority", value: this.priority },
      },
    }[name];
    const told = await confirmAction({ ...about, path: `/api/jobs/${this.id}/${name}` });
    if (told !== null) setText(this.done, `Done: ${told}.`);
  }
}
