// What a job was granted, and why it has no more, in sentences.

import { bytes, cores, count, many } from "./text.js";

const NEAR = 0.05; // cores

const sumOf = (rows, key) => {
  let sum = 0;
  for (const row of rows.values()) sum += row[key];
  return sum;
};

export function coresOf(job) {
  const pool = Math.max(0, job.granted_cores - job.granted_local_cores);
  const parts = [];
  if (job.granted_local_cores > 0) parts.push(`${cores(job.granted_local_cores)} on its own host`);
  if (pool > 0.005) parts.push(`${cores(pool)} of the pool`);
  const where = parts.length ? `: ${parts.join(", ")}` : "";
  const granted = cores(job.granted_cores);
  const asked = cores(job.demand_cores);
  return job.granted_cores > job.demand_cores
    ? `${granted}, more than the ${asked} that it asks for${where}`
    : `${granted} of ${asked} that it asks for${where}`;
}

/** One sentence. `told`: what the policy said when it divided the cores; "": nothing yet. */
export function whyCores(job, store, told) {
  if (job.state.startsWith("waiting: ")) return `It waits: ${job.state.slice(9)}.`;
  if (job.state === "lost") return "Its trainer is silent.";
  if (told) return `${told[0].toUpperCase()}${told.slice(1).replaceAll("`", "")}.`;
  if (job.demand_cores <= 0) return "What it needs is not measured yet.";
  if (job.granted_cores >= job.demand_cores - NEAR) return "It has all that it asks for.";
  const granted = sumOf(store.jobs.rows, "granted_cores");
  const asked = sumOf(store.jobs.rows, "demand_cores");
  if (granted >= store.cluster.ready_cores - 0.5) {
    const others = store.jobs.rows.size - 1;
    return others > 0
      ? `${many(others, "other job")} ${others === 1 ? "has" : "have"} the rest: all jobs ask for ${cores(asked)} of ${cores(store.cluster.ready_cores)} cores, and the policy ${store.cluster.policy} divides them.`
      : `There are no more: the workers that are ready have ${cores(store.cluster.ready_cores)} cores.`;
  }
  if (job.link_bytes_per_second_share > 0) {
    return `The links between hosts leave ${bytes(job.link_bytes_per_second_share)} a second for its batches, so more cores elsewhere would not help.`;
  }
  if (job.unfit_count > 0) return `${many(job.unfit_count, "worker")} can't serve it; see below.`;
  return "Cores are free, but not for it: its tenant's quota, or the number of workers that its program allows, is reached.";
}

export const cacheOf = (job) =>
  job.cache_bytes_granted > 0 ? `${bytes(job.cache_bytes_granted)} granted` : "none granted";

export const sourceOf = (job) =>
  job.source_bytes_per_second_limit > 0
    ? `at most ${bytes(job.source_bytes_per_second_limit)} a second`
    : "no limit";

export const linksOf = (job) =>
  job.link_bytes_per_second_share > 0
    ? `at most ${bytes(job.link_bytes_per_second_share)} a second for its batches`
    : "no limit is known";

/** Kinds of a state, for its mark. */
export function kindOf(state) {
  if (state === "running" || state === "ready") return "good";
  if (state === "lost") return "bad";
  return "busy";
}

/** "Pool spot: a quota or limit is used up". */
export const troubleOf = (pool) => `Pool ${pool.name}: ${pool.trouble.what}`;

/** What the whole cluster should be told of: a list of sentences. */
export function notices(store) {
  const found = [];
  const { cluster } = store;
  if (cluster.programs_without_room > 0) {
    found.push(
      `${many(cluster.programs_without_room, "program waits", "programs wait")} for room: the coordinator has as many jobs as --max-jobs or --max-jobs-of-a-tenant allows.`,
    );
  }
  if (cluster.slow_workers > 0) {
    found.push(`${many(cluster.slow_workers, "worker is", "workers are")} called slow by jobs; Workers says which.`);
  }
  for (const pool of store.pool.pools) {
    if (pool.troubled) found.push(`${troubleOf(pool)}; Pool says what to do.`);
  }
  let lost = 0;
  for (const worker of store.workers.rows.values()) if (worker.state === "lost") lost += 1;
  if (lost > 0) found.push(`${count(lost)} of ${many(store.workers.rows.size, "worker")} ${lost === 1 ? "is" : "are"} silent.`);
  return found;
}
