// Server-sent events by fetch, which can send the token; EventSource cannot.

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15000;
const SILENCE_MS = 30000; // a large cluster's frames may be seconds apart
const HIDDEN_MS = 60000; // a page that nobody looks at asks for nothing

let word = "";
try {
  word = sessionStorage.getItem("headrace-token") ?? "";
} catch {
  // No storage: the word is asked for again after a reload.
}

export function setWord(value) {
  word = value;
  try {
    sessionStorage.setItem("headrace-token", value);
  } catch {
    // As above.
  }
}

export const headers = () => (word ? { Authorization: `Bearer ${word}` } : {});

/** JSON of a path; throws an Error with `status`. */
export async function getJson(path) {
  const answer = await fetch(path, { headers: headers(), cache: "no-store" });
  if (!answer.ok) throw Object.assign(new Error(await textOf(answer)), { status: answer.status });
  return answer.json();
}

async function textOf(answer) {
  const text = await answer.text();
  try {
    return JSON.parse(text).text;
  } catch {
    return text.trim() || `status ${answer.status}`;
  }
}

/** Cuts a stream of bytes into events: calls `onData` with the data of each. */
export class EventParser {
  constructor(onData) {
    this.onData = onData;
    this.decoder = new TextDecoder();
    this.parts = [];
  }
  push(chunk) {
    let text = this.decoder.decode(chunk, { stream: true });
    // An event ends with an empty line. Long ones come in many chunks, which are joined once.
    if (this.parts.length && this.parts.at(-1).endsWith("\n")) text = this.parts.pop() + text;
    let end;
    while ((end = text.indexOf("\n\n")) >= 0) {
      this.parts.push(text.slice(0, end));
      const event = this.parts.join("");
      this.parts = [];
      text = text.slice(end + 2);
      const data = event
        .split("\n")
        .filter((line) => line.startsWith("data:"))
        .map((line) => line.slice(5).trimStart())
        .join("\n");
      if (data) this.onData(data);
    }
    if (text) this.parts.push(text);
  }
}

/**
 * Listens until the page goes, and again after each loss. `on`: frame(object), which throws where it does not fit
 * and another whole frame is wanted; state("live" | "wait" | "lost" | "word", text).
 */
export class Stream {
  constructor(on) {
    this.on = on;
    this.pause = FIRST_PAUSE_MS;
    this.abort = null;
    this.timer = null;
    this.hidden = null;
    document.addEventListener("visibilitychange", () => this.#look());
  }

  start() {
    clearTimeout(this.timer);
    this.#run();
  }

  #look() {
    clearTimeout(this.hidden);
    if (document.hidden) {
      this.hidden = setTimeout(() => this.abort?.abort("hidden"), HIDDEN_MS);
    } else if (!this.abort) {
      this.pause = FIRST_PAUSE_MS;
      this.start();
    }
  }

  async #run() {
    if (this.abort) return;
    const abort = new AbortController();
    this.abort = abort;
    let silence = null;
    const heard = () => {
      clearTimeout(silence);
      silence = setTimeout(() => abort.abort("silent"), SILENCE_MS);
    };
    let wanted = false;
    try {
      heard();
      const answer = await fetch("/api/events", {
        headers: { ...headers(), Accept: "text/event-stream" },
        cache: "no-store",
        signal: abort.signal,
      });
      if (answer.status === 401) {
        wanted = true;
        throw new Error("a token is wanted");
      }
      if (!answer.ok) throw new Error(await textOf(answer));
      const parser = new EventParser((data) => {
        this.on.frame(JSON.parse(data));
        this.pause = FIRST_PAUSE_MS;
        this.on.state("live", "Live");
      });
      const reader = answer.body.getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        heard();
        parser.push(value);
      }
      throw new Error("the coordinator ended the connection");
    } catch (error) {
      abort.abort();
      this.#lost(wanted, error);
    } finally {
      clearTimeout(silence);
    }
  }

  #lost(wanted, error) {
    this.abort = null;
    if (wanted) {
      this.on.state("word", "A token is wanted");
      return;
    }
    if (document.hidden) return; // goes on when somebody looks
    this.on.state("lost", "No connection; trying again");
    console.info(`headrace: ${error.message ?? error}`);
    this.timer = setTimeout(() => this.#run(), this.pause * (0.75 + Math.random() / 2));
    this.pause = Math.min(2 * this.pause, LONGEST_PAUSE_MS);
  }
}
