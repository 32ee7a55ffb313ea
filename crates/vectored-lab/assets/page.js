// Draws the charts of the page from the data in it, and lets a reader choose.
// Whatever is in the data is only ever set as text.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const HUES = {
    "write-each": "--write-each", "read-each": "--write-each",
    "copy-then-write": "--copy", "read-then-split": "--copy",
    "writev": "--gather", "readv": "--gather", "adaptive": "--adaptive", "floor": "--third",
  };
  // Besides its colour each technique has dashes of its own.
  const DASHES = {
    "write-each": [2, 3], "read-each": [2, 3], "copy-then-write": [8, 3], "read-then-split": [8, 3],
    "adaptive": [8, 3, 2, 3], "floor": [1, 2],
  };
  const color = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const hue = (technique) => color(HUES[technique] || "--other");
  const faded = (hex, share) => hex + Math.round(255 * share).toString(16).padStart(2, "0");

  const make = (tag, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };

  const bytes = (n) =>
    n >= 1048576 && n % 1048576 === 0 ? `${n / 1048576} MiB` : n >= 1024 && n % 1024 === 0 ? `${n / 1024} KiB` : `${n} B`;
  const roughBytes = (n) =>
    n >= 1048576 ? `${three(n / 1048576)} MiB` : n >= 1024 ? `${three(n / 1024)} KiB` : `${Math.round(n)} B`;
  const three = (value) => (value < 9.995 ? value.toFixed(2) : value < 99.95 ? value.toFixed(1) : value.toFixed(0));
  const time = (ns) => {
    for (const [unit, scale] of [["ns", 1], ["µs", 1e3], ["ms", 1e6]])
      if (ns / scale < 999.5) return `${three(ns / scale)} ${unit}`;
    return `${three(ns / 1e9)} s`;
  };
  // 1, 2, 5 by decades, and finer where the axis is short.
  const steps = (min, max) => {
    const list = [];
    const span = max / min;
    const marks = span < 1.6 ? [1, 1.05, 1.1, 1.15, 1.2, 1.3, 1.4, 1.5] : span < 6 ? [1, 1.2, 1.5, 2, 3, 4, 5, 7] : span < 100 ? [1, 2, 5] : [1];
    for (let decade = Math.floor(Math.log10(min)); decade <= Math.ceil(Math.log10(max)); decade++)
      for (const mark of marks) {
        const value = mark * 10 ** decade;
        if (value >= min && value <= max) list.push(Number(value.toPrecision(3)));
      }
    return list.length > 1 ? list : [min, max];
  };
  // As many sizes as have room for their words, the first among them.
  const labelled = (sizes, width) => {
    const [first, last] = [sizes[0], sizes[sizes.length - 1]].map(Math.log2);
    const room = 56 * (last - first) / Math.max(width - 80, 200);
    let next = -Infinity;
    return sizes.filter((n) => Math.log2(n) >= next && ((next = Math.log2(n) + room), true));
  };
  const axis = (extra) => ({
    stroke: color("--text"), grid: { stroke: color("--line"), width: 1 }, ticks: { stroke: color("--line") },
    font: "12px system-ui, sans-serif", filter: (_, splits) => splits, ...extra,
  });

  const charts = new Map(); // element → function that draws it anew

  // One chart of a target: time ÷ floor, or time, by segment size.
  function curves(figure, chart, curve) {
    const old = figure.querySelector(".plot");
    if (old) old.remove();
    const place = make("div", { className: "plot", tabIndex: 0 });
    place.setAttribute("role", "group");
    const kind = chart.ratios ? "time divided by floor" : "time per call";
    place.setAttribute("aria-label",
      `${chart.title}, ${curve.lists}: ${kind} by size; arrow keys read the values, which are in the table below too`);
    let readout = figure.querySelector(".readout");
    if (!readout) {
      readout = make("div", { className: "readout" });
      readout.setAttribute("aria-live", "polite");
      figure.append(readout);
    }
    figure.insertBefore(place, readout);
    const columns = [curve.bytes];
    const series = [{}];
    const bands = [];
    for (const technique of curve.techniques) {
      const at = columns.length;
      const line = hue(technique.name);
      columns.push(chart.ratios ? technique.ratio : technique.ns);
      series.push({ stroke: line, width: 2, dash: DASHES[technique.name], spanGaps: true, points: { show: true, size: 6, fill: line } });
      if (!chart.ratios) continue;
      columns.push(technique.high, technique.low);
      series.push({ stroke: "transparent", width: 0, points: { show: false } }, { stroke: "transparent", width: 0, points: { show: false } });
      bands.push({ series: [at + 1, at + 2], fill: faded(line, 0.22) });
    }
    // Every curve is seen whole, the floor as well.
    const seen = columns.slice(1).flat().filter((v) => v > 0);
    if (seen.length === 0) {
      readout.textContent = "No rounds were measured.";
      place.remove();
      return;
    }
    const low = Math.min(...seen, chart.ratios ? 1 : Infinity);
    const high = Math.max(...seen);
    const first = curve.bytes[0], last = curve.bytes[curve.bytes.length - 1];
    const crossings = (u) => {
      const { ctx } = u;
      ctx.save();
      ctx.beginPath();
      ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
      ctx.clip();
      for (const crossover of curve.crossovers) {
        const [from, at, to] = [crossover.low, crossover.at, crossover.high].map((v) => u.valToPos(v, "x", true));
        ctx.fillStyle = faded(color("--text"), 0.08);
        ctx.fillRect(from, u.bbox.top, Math.max(to - from, 1), u.bbox.height);
        ctx.strokeStyle = color("--text");
        ctx.lineWidth = devicePixelRatio;
        ctx.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio]);
        ctx.beginPath();
        ctx.moveTo(at, u.bbox.top);
        ctx.lineTo(at, u.bbox.top + u.bbox.height);
        ctx.stroke();
        ctx.fillStyle = color("--text");
        ctx.font = `${12 * devicePixelRatio}px system-ui, sans-serif`;
        const label = roughBytes(crossover.at);
        const left = at + 4 * devicePixelRatio + ctx.measureText(label).width > u.bbox.left + u.bbox.width;
        ctx.textAlign = left ? "right" : "left";
        ctx.fillText(label, at + (left ? -4 : 4) * devicePixelRatio, u.bbox.top + 13 * devicePixelRatio);
      }
      if (chart.ratios && low < 1 && high > 1) {
        const floor = u.valToPos(1, "y", true);
        ctx.setLineDash([]);
        ctx.strokeStyle = color("--third");
        ctx.lineWidth = devicePixelRatio;
        ctx.beginPath();
        ctx.moveTo(u.bbox.left, floor);
        ctx.lineTo(u.bbox.left + u.bbox.width, floor);
        ctx.stroke();
      }
      ctx.restore();
    };
    const tell = (index) => {
      const rows = curve.techniques.map((technique) => {
        const value = technique.ratio[index];
        if (technique.ns[index] === null) return null;
        const interval = technique.low[index] === null ? "" : `[${technique.low[index].toFixed(3)},\u00a0${technique.high[index].toFixed(3)}]`;
        const cells = chart.ratios
          ? [`×${value === null ? "–" : value.toFixed(3)} ${interval}`, time(technique.ns[index])]
          : [time(technique.ns[index])];
        const name = make("th", { scope: "row" }, make("span", { className: `key t-${technique.name}` }), technique.name);
        const row = make("tr", {}, name, ...cells.map((text) => make("td", { textContent: text })));
        row.dataset.technique = technique.name;
        return row;
      });
      const head = `${curve.list.replace('SIZE', bytes(curve.bytes[index]))}, floor ${time(curve.floor_ns[index])}`;
      readout.replaceChildren(make("b", { textContent: head }), make("table", {}, make("tbody", {}, ...rows.filter(Boolean))));
      readout.dataset.bytes = curve.bytes[index];
    };
    const legend = () => {
      const names = curve.techniques.map(({ name }) =>
        make("div", {}, make("span", { className: `key t-${name}` }), name));
      for (const { below, above, at, low, high } of curve.crossovers)
        names.push(make("div", { textContent: `${below} below ${roughBytes(at)} [${roughBytes(low)}, ${roughBytes(high)}], ${above} above` }));
      readout.replaceChildren(...names);
      delete readout.dataset.bytes;
    };
    legend();
    const plot = new uPlot({
      width: Math.max(figure.clientWidth, 280), height: 260, legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 8 } },
      scales: {
        x: { time: false, distr: 3, log: 2, range: () => [first / 1.15, last * 1.15] },
        y: { distr: 3, log: 10, range: () => [low / 1.06, high * 1.06] },
      },
      axes: [
        axis({ splits: () => labelled(curve.bytes.filter((n) => chart.sizes.includes(n)), figure.clientWidth), values: (_, list) => list.map(bytes), space: 10, rotate: 0, size: 34 }),
        axis({ splits: (u) => steps(u.scales.y.min, u.scales.y.max), values: (_, list) => list.map((v) => (chart.ratios ? `${Number(v.toPrecision(3))}×` : time(v))), size: chart.ratios ? 52 : 64 }),
      ],
      series, bands,
      hooks: {
        draw: [crossings],
        setCursor: [(u) => (u.cursor.idx === null || u.cursor.idx === undefined ? legend() : tell(u.cursor.idx))],
      },
    }, columns, place);
    let index = -1;
    place.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      index = Math.min(Math.max(index + step, 0), curve.bytes.length - 1);
      plot.setCursor({ left: plot.valToPos(curve.bytes[index], "x"), top: 10 }, false);
      tell(index);
    });
    place.addEventListener("blur", () => { index = -1; legend(); });
    charts.set(figure, () => { plot.destroy(); curves(figure, chart, curve); });
  }

  function drawPanel(section) {
    const run = data.runs[section.closest(".run").dataset.run];
    const chart = run.panels[section.dataset.panel];
    for (const figure of section.querySelectorAll("figure.chart"))
      if (!charts.has(figure)) curves(figure, chart, chart.curves[figure.dataset.chart]);
  }

  // The samples of one cell: what share of them is below each time, and each by its round.
  function distribution(box, cell) {
    const series = [["floor", cell.floor], ...cell.techniques].filter(([, samples]) => samples.some((v) => v !== null));
    const sorted = series.map(([name, samples]) => [name, samples.filter((v) => v !== null).sort((a, b) => a - b)]);
    const close = make("button", { type: "button", textContent: "Close" });
    close.addEventListener("click", () => { box.hidden = true; charts.delete(box); });
    const some = data.every > 1 ? ` One of every ${data.every} rounds is shown; the saved JSON has all.` : "";
    const below = make("div", { className: "plot" }), byRound = make("div", { className: "plot" });
    const quantile = (list, q) => list[Math.min(list.length - 1, Math.round(q * (list.length - 1)))];
    const qs = [["least", 0], ["5 %", 0.05], ["25 %", 0.25], ["median", 0.5], ["75 %", 0.75], ["95 %", 0.95], ["most", 1]];
    const rows = sorted.map(([name, list]) => make("tr", {},
      make("th", { scope: "row" }, make("span", { className: `key t-${name}` }), name),
      make("td", { textContent: list.length }), ...qs.map(([, q]) => make("td", { textContent: time(quantile(list, q)) }))));
    const heads = [
      ["technique", "How the bytes were moved."],
      ["samples", "The number of rounds in which the technique was sampled."],
      ...qs.map(([name, q]) => [name, `The time per call that ${Math.round(100 * q)} % of the samples do not exceed.`]),
    ];
    const head = make("tr", {}, ...heads.map(([text, title]) => make("th", { scope: "col", textContent: text, title })));
    box.replaceChildren(
      make("div", { className: "head" }, make("h4", { textContent: `Samples of ${cell.name}` }), close),
      make("p", { className: "hint", textContent: `${cell.rounds} rounds, time per call.${some} The first chart shows the share of samples below each time, the second shows each sample by its round.` }),
      make("div", { className: "charts" }, below, byRound),
      make("div", { className: "wide" }, make("table", { className: "figures" }, make("thead", {}, head), make("tbody", {}, ...rows))));
    box.hidden = false;
    const all = sorted.flatMap(([, list]) => [quantile(list, 0), quantile(list, 0.995)]);
    const low = Math.min(...all) / 1.03, high = Math.max(...all) * 1.03;
    const width = Math.max(below.clientWidth, 280);
    const line = (name) => ({ stroke: hue(name), width: 2, dash: DASHES[name], points: { show: false } });
    const times = [...new Set(sorted.flatMap(([, list]) => list))].sort((a, b) => a - b);
    const shares = sorted.map(([, list]) => {
      let passed = 0;
      return times.map((t) => { while (passed < list.length && list[passed] <= t) passed++; return passed / list.length; });
    });
    const plots = [
      new uPlot({
        width, height: 240, legend: { show: false }, cursor: { show: false },
        scales: { x: { time: false, distr: 3, log: 10, range: () => [low, high] }, y: { range: () => [0, 1] } },
        axes: [axis({ splits: (u) => steps(u.scales.x.min, u.scales.x.max), values: (_, list) => list.map(time), space: 40 }), axis({ values: (_, list) => list.map((v) => `${Math.round(100 * v)} %`) })],
        series: [{}, ...sorted.map(([name]) => line(name))],
      }, [times, ...shares], below),
      new uPlot({
        width, height: 240, legend: { show: false }, cursor: { show: false },
        scales: { x: { time: false }, y: { distr: 3, log: 10, range: () => [low, high] } },
        axes: [axis({ values: (_, list) => list.map((v) => v * data.every) }), axis({ splits: (u) => steps(u.scales.y.min, u.scales.y.max), values: (_, list) => list.map(time), size: 64 })],
        series: [{}, ...series.map(([name]) => ({ stroke: hue(name), paths: () => null, points: { show: true, size: 3, width: 0, fill: hue(name) } }))],
      }, [cell.floor.map((_, i) => i), ...series.map(([, samples]) => samples)], byRound),
    ];
    charts.set(box, () => { plots.forEach((plot) => plot.destroy()); distribution(box, cell); });
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-cell]");
    if (!button) return;
    const run = data.runs[button.closest(".run").dataset.run];
    const box = button.closest(".panel").querySelector(".distribution");
    distribution(box, run.cells[button.dataset.cell]);
    box.scrollIntoView({ block: "nearest" });
  });

  function choose(tab) {
    const list = tab.parentElement;
    for (const other of list.children) {
      const chosen = other === tab;
      other.setAttribute("aria-selected", chosen);
      other.tabIndex = chosen ? 0 : -1;
      const section = document.getElementById(other.getAttribute("aria-controls"));
      section.hidden = !chosen;
      if (chosen) drawPanel(section);
    }
  }
  for (const list of document.querySelectorAll('[role="tablist"]')) {
    list.addEventListener("click", (event) => {
      const tab = event.target.closest('[role="tab"]');
      if (tab) choose(tab);
    });
    list.addEventListener("keydown", (event) => {
      const tabs = [...list.children];
      const at = tabs.indexOf(event.target);
      const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
      if (at < 0 || next === undefined) return;
      event.preventDefault();
      const tab = tabs[(next + tabs.length) % tabs.length];
      choose(tab);
      tab.focus();
    });
  }

  const drawVisible = () => document.querySelectorAll(".run:not([hidden]) .panel:not([hidden])").forEach(drawPanel);
  const chooser = document.getElementById("run");
  if (chooser)
    chooser.addEventListener("change", () => {
      for (const section of document.querySelectorAll(".run")) section.hidden = section.dataset.run !== chooser.value;
      drawVisible();
    });

  const redraw = () => [...charts.values()].forEach((draw) => draw());
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : dark.matches);
  const theme = document.getElementById("theme");
  theme.hidden = false;
  const name = () => { theme.textContent = isDark() ? "Light" : "Dark"; };
  theme.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; name(); redraw(); });
  dark.addEventListener("change", () => { name(); redraw(); });
  name();

  let resizing;
  addEventListener("resize", () => { clearTimeout(resizing); resizing = setTimeout(redraw, 150); });
  // Paper is white, and has room for every target.
  let before;
  addEventListener("beforeprint", () => {
    before = root.dataset.theme;
    root.dataset.theme = "light";
    document.querySelectorAll(".run:not([hidden]) .panel").forEach(drawPanel);
    redraw();
  });
  addEventListener("afterprint", () => {
    if (before) root.dataset.theme = before; else delete root.dataset.theme;
    redraw();
  });
  drawVisible();
})();
