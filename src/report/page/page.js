// The report page: theme, tabs, copying, linear or logarithmic charts, values under the pointer. The page is complete
// without it. Texts go in through textContent only: they come from the user's log.
(() => {
  "use strict";
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const root = document.documentElement;
  const make = (name, text) => {
    const element = document.createElement("div");
    element.className = name;
    if (text !== undefined) element.textContent = text;
    return element;
  };

  // --- light and dark ---
  const themes = ["auto", "light", "dark"];
  const kept = () => { try { return localStorage.getItem("aplomb-theme"); } catch { return null; } };
  const themeButton = document.getElementById("theme");
  const setTheme = (theme) => {
    if (theme === "auto") delete root.dataset.theme; else root.dataset.theme = theme;
    themeButton.textContent = `theme: ${theme}`;
    themeButton.dataset.theme = theme;
    try { localStorage.setItem("aplomb-theme", theme); } catch { /* a page from a file may keep nothing */ }
  };
  themeButton.hidden = false;
  setTheme(themes.includes(kept()) ? kept() : "auto");
  themeButton.addEventListener("click", () => {
    setTheme(themes[(themes.indexOf(themeButton.dataset.theme) + 1) % themes.length]);
  });

  // --- the change, in each framework's words ---
  const choose = (box, way) => {
    const tabs = all('[role="tab"]', box);
    if (!tabs.some((tab) => tab.dataset.way === way)) return;
    for (const tab of tabs) tab.setAttribute("aria-selected", String(tab.dataset.way === way));
    for (const pre of all("pre", box)) pre.hidden = pre.dataset.way !== way;
  };
  const boxes = all(".ways");
  for (const box of boxes) {
    const first = box.querySelector('[role="tab"]');
    if (first) choose(box, first.dataset.way);
    for (const tab of all('[role="tab"]', box)) {
      tab.addEventListener("click", () => { for (const other of boxes) choose(other, tab.dataset.way); });
    }
    const copy = box.querySelector(".copy");
    if (!copy) continue;
    copy.hidden = false;
    copy.addEventListener("click", async () => {
      const shown = all("pre", box).find((pre) => !pre.hidden);
      const done = await copyText(shown);
      copy.textContent = done ? "copied" : "select and copy";
      setTimeout(() => { copy.textContent = "copy"; }, 1600);
    });
  }
  const copyText = async (element) => {
    try {
      await navigator.clipboard.writeText(element.textContent);
      return true;
    } catch { /* not allowed here: select the text, and try the old way */ }
    const range = document.createRange();
    range.selectNodeContents(element);
    const selection = getSelection();
    selection.removeAllRanges();
    selection.addRange(range);
    try { return document.execCommand("copy"); } catch { return false; }
  };

  // --- charts ---
  const data = JSON.parse(document.getElementById("samples").textContent);
  const show = (value, unit) => {
    if (typeof value !== "number") return String(value);
    if (unit === "bytes") return (value / 2 ** 30).toPrecision(4) + " GiB";
    return Math.abs(value) >= 1e6 || (value !== 0 && Math.abs(value) < 1e-3) ? value.toExponential(3)
      : String(Number(value.toPrecision(5)));
  };
  // The sample nearest to a step; steps may go back after a restart, so all are looked at.
  const nearest = (line, step) => {
    let best = -1;
    let distance = Infinity;
    line.steps.forEach((at, index) => {
      const away = Math.abs(at - step);
      if (away < distance) { distance = away; best = index; }
    });
    return best;
  };
  const charts = all(".chart").map((figure) => {
    const area = figure.querySelector(".area");
    const cursor = make("cursor");
    const tip = make("tip");
    cursor.hidden = tip.hidden = true;
    area.append(cursor, tip);
    return { figure, area, cursor, tip, data: data[Number(figure.dataset.id)] };
  });
  const hide = () => { for (const chart of charts) chart.cursor.hidden = chart.tip.hidden = true; };
  const point = (chart, step, withTip) => {
    const { first, last, lines } = chart.data;
    const index = nearest(lines[0], step);
    const at = lines[0].steps[index];
    const part = (at - first) / (last - first);
    chart.cursor.hidden = !(part >= 0 && part <= 1);
    chart.cursor.style.left = `${part * 100}%`;
    chart.tip.hidden = !withTip || chart.cursor.hidden;
    if (chart.tip.hidden) return;
    chart.tip.replaceChildren(make("", `step ${at}`), ...lines.map((line) => {
      const value = line.values[nearest(line, at)];
      return make("", `${lines.length > 1 ? line.name + " " : ""}${show(value, line.unit)}`);
    }));
    chart.tip.style.left = part > 0.6 ? "auto" : `calc(${part * 100}% + .5rem)`;
    chart.tip.style.right = part > 0.6 ? `calc(${(1 - part) * 100}% + .5rem)` : "auto";
  };
  const pointAll = (chart, step) => {
    const shares = (other) => other.data.first === chart.data.first && other.data.last === chart.data.last;
    for (const other of charts) if (other === chart || shares(other)) point(other, step, true);
  };
  for (const chart of charts) {
    let step = chart.data.first;
    const { first, last, lines } = chart.data;
    const follow = (event) => {
      const box = chart.area.getBoundingClientRect();
      step = first + ((event.clientX - box.left) / box.width) * (last - first);
      pointAll(chart, step);
    };
    chart.area.addEventListener("pointermove", follow);
    chart.area.addEventListener("pointerdown", follow);
    chart.area.addEventListener("pointerleave", hide);
    chart.area.addEventListener("blur", hide);
    chart.area.addEventListener("keydown", (event) => {
      const move = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!move) return;
      event.preventDefault();
      const index = nearest(lines[0], step) + move;
      step = lines[0].steps[Math.min(lines[0].steps.length - 1, Math.max(0, index))];
      pointAll(chart, step);
    });
    const scale = chart.figure.querySelector(".scale");
    if (!scale) continue;
    scale.addEventListener("click", () => {
      const log = chart.figure.dataset.scale !== "log";
      chart.figure.dataset.scale = log ? "log" : "lin";
      scale.textContent = log ? "log" : "linear";
      scale.setAttribute("aria-label", log ? "linear scale" : "logarithmic scale");
    });
  }
})();
