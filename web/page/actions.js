// What an admin may do. Each is asked for once more, with the admin's word.

import { el, setText } from "./dom.js";
import { headers } from "./stream.js";

let word = ""; // until the page goes

/**
 * Asks, and does it. Returns what the coordinator said, or null where the user thought better of it. `number`: {
 * label, value } of a whole number that is a part of the order.
 */
export function confirmAction({ title, text, verb, path, number = null }) {
  return new Promise((resolve) => {
    const said = el("p", { class: "error", role: "alert" });
    const input = el("input", {
      type: "password",
      id: "admin-word",
      autocomplete: "off",
      value: word,
      onkeydown: (event) => event.key === "Enter" && send(),
    });
    const value =
      number &&
      el("input", { type: "number", id: "order-value", step: "1", min: "-2147483648", max: "2147483647", value: number.value });
    const go = el("button", { type: "button", class: "danger", onclick: () => send() }, verb);
    const dialog = el(
      "dialog",
      { "aria-labelledby": "action-title", onclose: () => finish(null) },
      el("h2", { id: "action-title" }, title),
      el("p", {}, text),
      number && el("label", { for: "order-value" }, number.label),
      value,
      el("label", { for: "admin-word" }, "The admin's word"),
      input,
      said,
      el(
        "div",
        { class: "buttons" },
        el("button", { type: "button", onclick: () => dialog.close() }, "Leave it"),
        go,
      ),
    );
    const finish = (result) => {
      dialog.remove();
      resolve(result);
    };
    const send = async () => {
      go.disabled = true;
      setText(said, "");
      word = input.value;
      try {
        const answer = await fetch(value ? `${path}/${value.value}` : path, {
          method: "POST",
          headers: { ...headers(), "X-Headrace-Admin": word },
          cache: "no-store",
        });
        const told = (await answer.json()).text;
        if (answer.ok) {
          resolve(told);
          dialog.close();
          return;
        }
        if (answer.status === 401) word = "";
        setText(said, `Not done: ${told}.`);
      } catch (error) {
        setText(said, `Not done: ${error.message}.`);
      }
      go.disabled = false;
      input.focus();
    };
    document.body.append(dialog);
    dialog.showModal();
    (value ?? input).focus();
  });
}
