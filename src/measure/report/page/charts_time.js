// Charts over dates and scenarios.
(() => {
  "use strict";
  const { time, axisTime, rowLayout, behind, axisX, gridX, tips } = pqcost;

  // The last event of each variant: the end of its handshake.
  pqcostCharts.scenarios = ({ host, width }) => {
    const rows = host.scenarios.flatMap((scenario, at) => {
      const times = Object.entries(scenario.times).sort((a, b) => a[1][0] - b[1][0]);
      if (!times.length) return [];
      const [event, [median, low, high, n]] = times[times.length - 1];
      return [{ key: `r${at}`, label: `${scenario.scenario}: ${scenario.variant}`, event, median, low, high, text: `${time(median)}, n = ${n}` }];
    });
    if (!rows.length) return null;
    const layout = rowLayout(width, rows, rows.map((row) => row.text));
    return Plot.plot({
      ...layout.options,
      x: { axis: null, domain: [0, Math.max(...rows.map((row) => row.high))] },
      marks: [
        gridX({ ticks: layout.narrow ? 4 : 8 }),
        axisX({ tickFormat: axisTime, ticks: layout.narrow ? 4 : 8 }),
        Plot.ruleY(rows, { x1: "low", x2: "high", y: "key", stroke: "var(--cool-1)", strokeWidth: 3, strokeOpacity: 0.55, dy: layout.middle }),
        Plot.dot(rows, { x: "median", y: "key", r: 4.5, fill: "var(--cool-1)", dy: layout.middle, title: (row) => `${row.label}\n${row.event}: ${time(row.median)} (${time(row.low)} to ${time(row.high)})`, ...tips }),
        behind(rows, layout, "high", "text"),
        layout.names,
      ],
    });
  };

  const palette = ["var(--cool-1)", "var(--warm-1)", "var(--cool-3)", "var(--warm-2)", "var(--other-1)", "var(--cool-2)"];
  const shapes = ["circle", "square", "triangle", "diamond", "star", "wye"];
  const drawn = { circle: d3.symbolCircle, square: d3.symbolSquare, triangle: d3.symbolTriangle, diamond: d3.symbolDiamond, star: d3.symbolStar, wye: d3.symbolWye };

  // One small plot for each library: lines of its suites.
  pqcostCharts.history = ({ host, name, width }) => {
    const series = host.history.filter((one) => one.track === name && one.points.length > 1);
    if (!series.length) return null;
    const label = (one) => one.suite + (one.figure === "composed" ? "" : `, ${one.figure}`);
    const libraries = d3.group(series, (one) => one.provider);
    const nodes = [...libraries].slice(0, 8).map(([provider, all]) => {
      const names = [...new Set(all.map(label))];
      const at = (point) => names.indexOf(point.name);
      const points = all.flatMap((one, line) => one.points.map((point) => ({ ...point, when: new Date(point.date), name: label(one), line, library: `${one.provider} ${one.version}`, code: one.code })));
      const good = points.filter((point) => !point.withheld);
      const box = document.createElement("div");
      box.className = "small wide";
      box.dataset.name = provider;
      const title = document.createElement("p");
      title.textContent = provider;
      const list = document.createElement("ul");
      list.className = "legend";
      for (const [i, one] of names.entries()) {
        const item = document.createElement("li");
        const swatch = pqcost.svg("svg", { width: 14, height: 12, "aria-hidden": "true" });
        swatch.append(pqcost.svg("path", { d: d3.symbol(drawn[shapes[i % shapes.length]], 50)(), fill: palette[i % palette.length], transform: "translate(7,6)" }));
        item.append(swatch, one);
        list.append(item);
      }
      box.append(title, list, Plot.plot({
        className: "plot-drawing",
        width, height: 250, marginLeft: 60, marginBottom: 36, marginTop: 12, marginRight: 16,
        x: { type: "utc", axis: null },
        y: { type: "log", axis: null },
        symbol: { domain: names, range: names.map((_, i) => shapes[i % shapes.length]) },
        marks: [
          Plot.gridY({ stroke: "var(--rule)", strokeOpacity: 1, ticks: 5 }),
          Plot.axisY({ tickSize: 0, fontSize: 11, label: null, color: "var(--muted)", ticks: 5, tickFormat: axisTime }),
          Plot.axisX({ anchor: "bottom", tickSize: 0, tickPadding: 8, fontSize: 11, color: "var(--muted)", label: null, ticks: width < 560 ? 3 : 7 }),
          Plot.line(good, { x: "when", y: "median", z: "line", stroke: { value: (point) => palette[at(point) % palette.length], scale: null }, strokeWidth: 1.6 }),
          Plot.dot(good, { x: "when", y: "median", symbol: "name", r: 3.5, fill: { value: (point) => palette[at(point) % palette.length], scale: null },
            title: (point) => `${point.name}\n${time(point.median)}\n${point.date.slice(0, 16).replace("T", " ")}, ${point.commit.slice(0, 12)}\n${point.library}, ${point.code}`, ...tips }),
          Plot.dot(points.filter((point) => point.withheld), { x: "when", y: "median", symbol: "times", r: 4, stroke: "var(--alarm)", strokeWidth: 2,
            title: (point) => `${point.name}, withheld\n${point.withheld}`, ...tips }),
        ],
      }));
      return box;
    });
    return { nodes };
  };
})();
