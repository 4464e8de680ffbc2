// Which view is shown, and what it is given.

import { DataView } from "./data.js";
import { el, setAttribute, setText } from "./dom.js";
import { JobView } from "./job.js";
import { JobsView } from "./jobs.js";
import { PoolView } from "./pool.js";
import { Store } from "./store.js";
import { Stream, setWord } from "./stream.js";
import { clock, count } from "./text.js";
import { startTheme } from "./theme.js";
import { WorkerView } from "./worker.js";
import { WorkersView } from "./workers.js";

const $ = (id) => document.getElementById(id);
const store = new Store();
const main = $("main");
const live = $("live");
const where = $("where");
const lists = { jobs: new JobsView(), workers: new WorkersView(), data: new DataView(), pool: new PoolView() };
const content = el("div", {});
let view = null;
let shown = "";
let pending = false;

function viewOf(hash) {
  const [, name, id] = /^#(\w+)(?:\/(\d{1,18}))?$/.exec(hash) ?? [];
  if (name === "jobs" && id) return new JobView(id);
  if (name === "workers" && id) return new WorkerView(id);
  return lists[name] ?? lists.jobs;
}

function route(focus) {
  const { hash } = location;
  if (hash === shown && view) return;
  shown = hash;
  view = viewOf(hash);
  content.replaceChildren(view.node);
  const of = Object.keys(lists).find((name) => hash.startsWith(`#${name}`)) ?? "jobs";
  for (const link of document.querySelectorAll("header nav a")) {
    setAttribute(link, "aria-current", link.hash === `#${of}` ? "page" : null);
  }
  draw();
  // Whoever reads by ear or by keyboard goes on at the new view's heading.
  if (focus) view.node.querySelector("h2").focus();
}

function draw() {
  pending = false;
  if (!store.cluster) return;
  view.update(store);
  setText($("count-jobs"), count(store.jobs.rows.size));
  setText($("count-workers"), count(store.workers.rows.size));
  setText($("count-data"), count(store.datasets.rows.size));
  setText(where, `${store.cluster.version} at ${location.host}, ${clock(store.wall_ms)}`);
  const title = `${view.title} – Headrace`;
  if (document.title !== title) document.title = title;
}

/** Changes are drawn once a frame of the screen. */
function drawSoon() {
  if (pending) return;
  pending = true;
  requestAnimationFrame(draw);
}

function askForWord() {
  if ($("word")) return;
  const input = el("input", { id: "word", type: "password", autocomplete: "off" });
  const go = () => {
    setWord(input.value);
    panel.remove();
    stream.start();
  };
  input.addEventListener("keydown", (event) => event.key === "Enter" && go());
  const panel = el(
    "div",
    { class: "panel" },
    el("label", { for: "word" }, "This coordinator wants its token (--http-token-file)"),
    input,
    el("button", { type: "button", onclick: go }, "Show the cluster"),
  );
  main.prepend(panel);
  input.focus();
}

const stream = new Stream({
  frame(frame) {
    store.apply(frame);
    drawSoon();
  },
  state(state, text) {
    setText(live, text);
    setAttribute(live, "data-state", state);
    if (state === "word") askForWord();
  },
});

document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
addEventListener("hashchange", () => route(true));
startTheme($("theme"));
main.append(content);
route(false);
stream.start();
