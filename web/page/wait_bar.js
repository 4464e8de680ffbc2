// The waiting of a job in one cell: a bar by cause, and the share in figures.

import { CAUSES, inWords } from "./causes.js";
import { el, setAttribute, setText } from "./dom.js";
import { share } from "./text.js";

export function fillWaitBar(cell, row) {
  if (!cell.firstChild) {
    cell.append(
      el("span", { class: "figure" }),
      el(
        "span",
        { class: "waitbar", "aria-hidden": "true" },
        ...CAUSES.map((cause) => el("span", { "data-series": cause.key })),
      ),
    );
  }
  const [figure, bar] = cell.children;
  setText(figure, row.wait_shares || row.wait_share > 0 ? share(row.wait_share) : "–");
  CAUSES.forEach((_, at) => {
    const width = `${(100 * (row.wait_shares?.[at] ?? 0)).toFixed(1)}%`;
    if (bar.children[at].style.width !== width) bar.children[at].style.width = width;
  });
  setAttribute(bar, "title", row.wait_shares ? inWords(row.wait_shares, share) : null);
}
