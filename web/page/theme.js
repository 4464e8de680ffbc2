// Light, dark, or as the system has it.

const KEY = "headrace-theme";

function stored() {
  try {
    return localStorage.getItem(KEY) ?? "auto";
  } catch {
    return "auto";
  }
}

export function startTheme(fieldset) {
  const choose = (value) => {
    if (value === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = value;
  };
  const radios = [...fieldset.querySelectorAll("input")];
  const now = radios.find((radio) => radio.value === stored()) ?? radios[0];
  now.checked = true;
  choose(now.value);
  fieldset.addEventListener("change", (event) => {
    choose(event.target.value);
    try {
      localStorage.setItem(KEY, event.target.value);
    } catch {
      // It holds until the page goes.
    }
  });
}
