"""What a page owes to those who do not see it, or not well: checked by rules of our own, of WCAG 2.2 AA."""

from support.browser import Page

NAMED = {"link", "button", "textbox", "searchbox", "radio", "checkbox", "region", "table", "dialog"}
LANDMARKS = {"banner": 1, "navigation": None, "main": 1, "contentinfo": 1}

STRUCTURE = """(() => {
  const wrong = [];
  const shown = (node) => node.checkVisibility();
  const ids = [...document.querySelectorAll("[id]")].map((node) => node.id);
  for (const id of ids) if (ids.filter((other) => other === id).length > 1) wrong.push(`id ${id} twice`);
  let level = 0;
  for (const heading of document.querySelectorAll("h1, h2, h3, h4")) {
    if (!shown(heading)) continue;
    const now = Number(heading.tagName[1]);
    if (now > level + 1) wrong.push(`${heading.tagName} after H${level}: ${heading.textContent}`);
    if (!heading.textContent.trim()) wrong.push("a heading without a text");
    level = now;
  }
  if (document.querySelectorAll("h1").length !== 1) wrong.push("not one h1");
  for (const image of document.querySelectorAll("img")) {
    if (!image.hasAttribute("alt")) wrong.push("an image without alt");
  }
  for (const drawing of document.querySelectorAll("svg[role=img]")) {
    const ids = (drawing.getAttribute("aria-labelledby") ?? "").split(" ");
    if (!ids.every((id) => document.getElementById(id)?.textContent.trim())) wrong.push("a chart without words");
  }
  for (const table of document.querySelectorAll("table")) {
    for (const head of table.querySelectorAll("th")) {
      if (!head.scope) wrong.push(`th without scope: ${head.textContent}`);
    }
    for (const row of table.querySelectorAll("tbody tr")) {
      if (row.querySelectorAll("th[scope=row]").length !== 1) wrong.push("a row without one header");
    }
    const heads = table.querySelectorAll("thead th").length;
    for (const row of table.querySelectorAll("tbody tr")) {
      if (row.children.length !== heads) wrong.push("a row with more or fewer cells than heads");
    }
  }
  for (const field of document.querySelectorAll("input")) {
    if (!field.labels.length) wrong.push(`a field without label: ${field.id}`);
  }
  if (!document.documentElement.lang) wrong.push("no language");
  if (!document.title) wrong.push("no title");
  for (const node of document.querySelectorAll("[tabindex]")) {
    if (Number(node.getAttribute("tabindex")) > 0) wrong.push("a tabindex above 0");
  }
  return wrong;
})()"""

# Texts whose contrast with what is behind them is below 4.5, or 3 where they are large.
CONTRAST = """(() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const rgba = (text) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = text;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, under) => [0, 1, 2].map((i) => top[i] * top[3] + under[i] * (1 - top[3]));
  const light = (color) => {
    const [r, g, b] = color.map((c) => (c / 255 <= 0.03928 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
  const ground = (node) => {
    const layers = [];
    for (let at = node; at; at = at.parentElement) {
      const color = rgba(getComputedStyle(at).backgroundColor);
      if (color[3] > 0) layers.push(color);
      if (color[3] === 1) break;
    }
    return layers.reverse().reduce((under, top) => over(top, under), [255, 255, 255]);
  };
  const wrong = new Set();
  let seen = 0;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !node.checkVisibility({ opacityProperty: true })) continue;
    if (node.closest(":disabled") || node.closest(".unseen")) continue; // inactive; for the ear alone
    const style = getComputedStyle(node);
    const behind = ground(node);
    const found = ratio(over(rgba(style.color), behind), behind);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    seen += 1;
    if (found < (large ? 3 : 4.5)) wrong.add(`${found.toFixed(2)} ${node.tagName}.${node.className}: ${node.textContent.slice(0, 40)}`);
  }
  // Marks and lines that carry a meaning: 3.
  for (const node of document.querySelectorAll(".waitbar span, .key")) {
    if (!node.checkVisibility() || node.getBoundingClientRect().width < 1) continue;
    const color = rgba(getComputedStyle(node).backgroundColor);
    const behind = ground(node.parentElement);
    seen += 1;
    if (color[3] === 1 && ratio(color.slice(0, 3), behind) < 3) {
      wrong.add(`${ratio(color.slice(0, 3), behind).toFixed(2)} ${node.dataset.series}`);
    }
  }
  if (seen < 10) wrong.add(`only ${seen} texts were seen`);
  return [...wrong];
})()"""

FOCUSED = """(() => {
  const node = document.activeElement;
  if (!node || node === document.body) return null;
  const style = getComputedStyle(node);
  const next = node.nextElementSibling;
  const ring = (each) => each && getComputedStyle(each).outlineStyle !== "none" && parseFloat(getComputedStyle(each).outlineWidth) >= 2;
  return {
    name: node.getAttribute("aria-label") ?? (node.labels?.[0]?.textContent.trim() || node.textContent.trim()),
    tag: node.tagName,
    ring: Boolean(ring(node) || (node.type === "radio" && ring(next))),
    inside: node.closest("header") ? "header" : node.closest("main") ? "main" : node.closest("footer") ? "footer" : "other",
  };
})()"""


def problems(page: Page, landmarks: bool = True) -> list[str]:
    """What is wrong with the page as it is shown now. `landmarks`: they are wanted."""
    found = [*page.run(STRUCTURE), *page.run(CONTRAST)]
    tree = page.tree()
    found += [f"a {node['role']} without a name" for node in tree if _nameless(node)]
    for role, wanted in LANDMARKS.items() if landmarks else ():
        count = sum(node["role"] == role for node in tree)
        if count == 0 or (wanted and count != wanted):
            found.append(f"{count} landmarks of role {role}")
    return found


def _nameless(node: dict) -> bool:
    return node["role"] in NAMED and not node["name"].strip()


def focus_order(page: Page, steps: int) -> list[dict]:
    """Where Tab leads, from the beginning of the page."""
    page.run("document.activeElement.blur(), getSelection().removeAllRanges(), scrollTo(0, 0)")
    order = []
    for _ in range(steps):
        page.press("Tab")
        order.append(page.run(FOCUSED))
    return order
