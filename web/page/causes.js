// What a trainer waits for, in the order of the rows' `wait_shares`, with the words of the advice.

export const CAUSES = [
  { key: "sampler", name: "Sampler", help: "the program's own sampler" },
  { key: "source", name: "Source", help: "workers read samples, or their sizes" },
  { key: "compute", name: "Decode", help: "workers decode and augment natively" },
  { key: "python", name: "Python stage", help: "workers run the program's Python code" },
  { key: "queue", name: "Queue", help: "no worker, or none of its threads, was free" },
  { key: "network", name: "Network", help: "request and answer on their way" },
  { key: "copy", name: "Copy", help: "the trainer's own part" },
];

/** "41%: 30% decode, 8% network"; shares by cause. */
export function inWords(shares, share) {
  const parts = shares
    .map((part, at) => [part, CAUSES[at].name.toLowerCase()])
    .filter(([part]) => part >= 0.005)
    .sort((a, b) => b[0] - a[0])
    .map(([part, name]) => `${share(part)} ${name}`);
  const all = shares.reduce((sum, part) => sum + part, 0);
  return parts.length ? `${share(all)}: ${parts.join(", ")}` : share(all);
}
