// Numbers as people read them.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const exact = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });

export const NONE = "–";

export const count = (value) => whole.format(value);

/** "1.5", "12": cores. */
export const cores = (value) => (value >= 100 ? whole : exact).format(value);

/** "41%", "0.4%"; null: not known. */
export function share(value) {
  if (value === null || value === undefined) return NONE;
  const percent = 100 * value;
  return percent > 0 && percent < 0.95 ? `${percent.toFixed(1)}%` : `${Math.round(percent)}%`;
}

export function rate(value) {
  if (value === null || value === undefined) return NONE;
  return value >= 100 || value === 0 ? whole.format(value) : value.toPrecision(2).replace(/\.0$/, "");
}

/** "1.5 GiB". */
export function bytes(value) {
  if (value < 1024) return `${whole.format(value)} B`;
  const units = ["KiB", "MiB", "GiB", "TiB", "PiB"];
  let unit = -1;
  let left = value;
  do {
    left /= 1024;
    unit += 1;
  } while (left >= 999.5 && unit + 1 < units.length);
  return `${left < 9.95 ? left.toFixed(1) : whole.format(left)} ${units[unit]}`;
}

/** "45 s", "12 min", "3 h 20 min", "2 d 4 h". */
export function duration(seconds) {
  if (!Number.isFinite(seconds)) return NONE;
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  return `${whole.format(Math.floor(s / 86400))} d ${Math.floor((s % 86400) / 3600)} h`;
}

export const clock = (ms) => new Date(ms).toLocaleTimeString("en-GB");

/** "1 job", "2 jobs". */
export const many = (number, one, more = `${one}s`) => `${count(number)} ${number === 1 ? one : more}`;

/** What is left of a job: [for people, seconds for sorting]. */
export function left(job) {
  if (job.remaining_samples === null) return [NONE, -1];
  if (job.remaining_samples === 0) return ["0 s", 0];
  if (job.samples_per_second <= 0) return [many(job.remaining_samples, "sample"), Infinity];
  const seconds = job.remaining_samples / job.samples_per_second;
  return [duration(seconds), seconds];
}
