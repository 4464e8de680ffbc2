// What the page knows: rows by key, put together from frames.

export const FORMAT = 1;

class Table {
  constructor() {
    this.columns = [];
    this.rows = new Map();
    this.version = 0; // grows with each change
    this.members = 0; // grows when rows come or go
  }

  apply(part, whole) {
    if (whole) {
      this.columns = part.columns;
      this.rows = new Map();
      this.members += 1;
    }
    for (const cells of part.rows) {
      const row = {};
      for (let at = 0; at < cells.length; at += 1) row[this.columns[at]] = cells[at];
      if (!this.rows.has(cells[0])) this.members += 1;
      this.rows.set(cells[0], row);
    }
    for (const key of part.gone ?? []) {
      if (this.rows.delete(key)) this.members += 1;
    }
    if (whole || part.rows.length || part.gone?.length) this.version += 1;
    if (this.rows.size !== part.of) throw new Error("a frame does not fit");
  }
}

export class Store {
  constructor() {
    this.jobs = new Table();
    this.workers = new Table();
    this.datasets = new Table();
    this.frame = 0;
    this.wall_ms = 0;
    this.cluster = null;
    this.pool = null;
    this.actions = [];
  }

  /** Throws where the frame does not follow the one before. */
  apply(frame) {
    if (frame.format !== FORMAT) {
      location.reload(); // the coordinator is of another release, and has another page
      throw new Error("another release");
    }
    if (!frame.whole && frame.frame !== this.frame + 1) throw new Error("a frame is missing");
    this.frame = frame.frame;
    this.wall_ms = frame.wall_ms;
    this.cluster = frame.cluster;
    this.pool = frame.pool;
    this.actions = frame.actions;
    for (const name of ["jobs", "workers", "datasets"]) this[name].apply(frame[name], frame.whole);
  }
}
