// Charts of a track: phases, change, distribution, operations, tails, threads.
(() => {
  "use strict";
  const { time, axisTime, multiple, group, phaseColour, hatches, rowLayout, behind, axisX, gridX, tips, chosen } = pqcost;

  // The client's parts of a suite first, then the server's; of what both do, each has half.
  const segments = (suite) => {
    const parts = { client: [], server: [] };
    for (const phase of suite.phases) {
      const clients = phase.side === "client" ? phase.weight : phase.side === "server" ? 0 : Math.floor(phase.weight / 2);
      for (const [side, times] of [["client", clients], ["server", phase.weight - clients]]) {
        if (times <= 0) continue;
        parts[side].push({ key: suite.key, phase: phase.name, side, us: times * phase.mean,
          times: times === 1 ? "" : ` \u00d7 ${times}`, weight: phase.weight });
      }
    }
    let at = 0;
    return [...parts.client, ...parts.server].map((part) => ({ ...part, x1: at, x2: (at += part.us) }));
  };

  pqcostCharts.phases = (place) => {
    const suites = chosen(place).filter((suite) => suite.composed);
    if (!suites.length) return null;
    const parts = suites.flatMap(segments);
    const ends = suites.map((suite) => ({
      key: suite.key,
      x: Math.max(suite.composed.mean, suite.e2e?.mean ?? 0),
      text: time(suite.composed.mean) + (suite.e2e && place.width >= 760 ? `, ${time(suite.e2e.mean)} end to end` : ""),
    }));
    const layout = rowLayout(place.width, suites, ends.map((end) => end.text));
    const hatch = hatches(parts.map((part) => phaseColour(part.phase)));
    const fill = (part) => (part.side === "server" ? hatch.fill(phaseColour(part.phase)) : phaseColour(part.phase));
    const phases = [...new Map(parts.map((part) => [part.phase, part])).values()];
    const node = Plot.plot({
      ...layout.options,
      x: { domain: [0, Math.max(...ends.map((end) => end.x))], axis: null },
      marks: [
        hatch.mark,
        gridX(),
        axisX({ tickFormat: axisTime, ticks: layout.narrow ? 4 : 8 }),
        Plot.barX(parts, {
          x1: "x1", x2: "x2", y: "key", fill: { value: fill, scale: null }, ...layout.insets, insetRight: 0.5,
          ariaLabel: (part) => `${part.phase}, ${part.side}: ${part.us}`,
          title: (part) => `${part.phase}${part.times}, ${part.side}\n${time(part.us)}`, ...tips,
        }),
        Plot.tickX(suites.filter((suite) => suite.e2e), { x: (suite) => suite.e2e.mean, y: "key", stroke: "currentColor", strokeWidth: 2.5, ...layout.insets, insetTop: layout.insets.insetTop - 3, insetBottom: layout.insets.insetBottom - 3, ariaLabel: (suite) => `end to end: ${suite.e2e.mean}` }),
        behind(ends, layout, "x", "text"),
        layout.names,
      ],
    });
    return {
      nodes: [node],
      legend: [
        ...phases.map((part) => ({ label: part.phase + (part.weight === 1 ? "" : ` \u00d7${part.weight}`), colour: phaseColour(part.phase) })),
        { label: "server's part", colour: "var(--muted)", hatched: true },
        ...(suites.some((suite) => suite.e2e) ? [{ label: "end to end", colour: "currentColor", shape: "tick" }] : []),
      ],
    };
  };

  pqcostCharts.change = (place) => {
    const suites = chosen(place).filter((suite) => suite.change);
    if (!suites.length) return null;
    const text = (suite) => `${multiple(suite.change.value)}${suite.change.runs > 1 ? `, ${suite.change.runs} runs` : ", one run"}`;
    const items = suites.map((suite) => ({ ...suite, text: text(suite), low: suite.change.low ?? suite.change.value, high: suite.change.high ?? suite.change.value }));
    const layout = rowLayout(place.width, items, items.map((item) => item.text));
    return Plot.plot({
      ...layout.options,
      x: { type: "log", domain: [Math.min(0.9, ...items.map((item) => item.low)), Math.max(1.1, ...items.map((item) => item.high))], axis: null },
      marks: [
        gridX({ ticks: layout.narrow ? 4 : 8 }),
        axisX({ tickFormat: (x) => `${+x.toPrecision(2)}\u00d7`, ticks: layout.narrow ? 4 : 8 }),
        Plot.ruleX([1], { stroke: "currentColor", strokeDasharray: "3 3" }),
        Plot.ruleY(items, { x1: "low", x2: "high", y: "key", stroke: "var(--cool-1)", strokeWidth: 3, strokeOpacity: 0.55, dy: layout.middle }),
        Plot.dot(items, { x: (item) => item.change.value, y: "key", r: 5, dy: layout.middle, stroke: "var(--cool-1)", strokeWidth: 2,
          fill: { value: (item) => (item.change.runs > 1 ? "var(--cool-1)" : "var(--paper)"), scale: null },
          title: (item) => `${item.label}\n${item.text}\n${multiple(item.low)} to ${multiple(item.high)}`, ...tips }),
        behind(items, layout, "high", "text"),
        layout.names,
      ],
    });
  };

  pqcostCharts.distribution = (place) => {
    const suites = chosen(place).filter((suite) => suite.composed);
    if (!suites.length) return null;
    const figure = (name) => (suite) => suite.composed[name];
    const layout = rowLayout(place.width, suites);
    return Plot.plot({
      ...layout.options,
      x: { type: "log", axis: null },
      marks: [
        gridX({ ticks: layout.narrow ? 4 : 8 }),
        axisX({ tickFormat: axisTime, ticks: layout.narrow ? 4 : 8 }),
        Plot.ruleY(suites, { x1: figure("min"), x2: figure("max"), y: "key", stroke: "var(--cool-1)", strokeWidth: 1.5, dy: layout.middle }),
        Plot.ruleY(suites, { x1: figure("median"), x2: figure("p95"), y: "key", stroke: "var(--cool-1)", strokeWidth: 11, strokeOpacity: 0.6, dy: layout.middle }),
        Plot.dot(suites, { x: figure("median"), y: "key", r: 4, fill: "var(--ink)", dy: layout.middle,
          title: (suite) => `${suite.label}\nmedian ${time(suite.composed.median)}, p95 ${time(suite.composed.p95)}${suite.composed.p99 ? `, p99 ${time(suite.composed.p99)}` : ""}\n${time(suite.composed.min)} to ${time(suite.composed.max)}`, ...tips }),
        Plot.text(suites.filter((suite) => suite.composed.p99), { x: figure("p99"), y: "key", text: () => "|", fontSize: 16, fontWeight: 700, fill: "var(--cool-1)", dy: layout.middle }),
        layout.names,
      ],
    });
  };

  const symbols = ["circle", "square", "triangle", "diamond", "star"];
  pqcostCharts.operations = (place) => {
    const suites = chosen(place);
    const items = suites.flatMap((suite) => suite.phases.map((phase) => ({ ...phase, key: suite.key, label: suite.label, high: phase.p99 ?? phase.p95 })));
    if (!items.length) return null;
    const names = [...new Set(items.map((item) => item.name))];
    const layout = rowLayout(place.width, suites);
    const shape = (name) => symbols[names.indexOf(name) % symbols.length];
    const path = { circle: d3.symbolCircle, square: d3.symbolSquare, triangle: d3.symbolTriangle, diamond: d3.symbolDiamond, star: d3.symbolStar };
    return {
      legend: names.map((name) => ({ label: name, colour: phaseColour(name), shape: d3.symbol(path[shape(name)], 64)() })),
      nodes: [Plot.plot({
        ...layout.options,
        x: { type: "log", axis: null },
        symbol: { domain: names, range: names.map(shape) },
        marks: [
          Plot.ruleY(suites, { y: "key", stroke: "var(--rule)", dy: layout.middle }),
          gridX({ ticks: layout.narrow ? 4 : 8 }),
          axisX({ tickFormat: axisTime, ticks: layout.narrow ? 4 : 8 }),
          Plot.ruleY(items, { x1: "median", x2: "high", y: "key", stroke: { value: (item) => phaseColour(item.name), scale: null }, strokeWidth: 2, dy: layout.middle }),
          Plot.dot(items, { x: "median", y: "key", symbol: "name", r: 5, fill: { value: (item) => phaseColour(item.name), scale: null }, stroke: "var(--paper)", strokeWidth: 1, dy: layout.middle,
            title: (item) => `${item.label}, ${item.name}\nmedian ${time(item.median)}, ${item.p99 ? "p99" : "p95"} ${time(item.high)}`, ...tips }),
          layout.names,
        ],
      })],
    };
  };

  // One small plot for each suite that keeps its samples.
  pqcostCharts.tails = (place) => {
    const suites = chosen(place).filter((suite) => suite.phases.some((phase) => phase.tail)).slice(0, 12);
    if (!suites.length) return null;
    const columns = place.width < 700 ? 1 : 2;
    const width = Math.floor(place.width / columns) - (columns > 1 ? 10 : 0);
    const lines = (suite) => suite.phases.flatMap((phase) => (phase.tail ?? []).map(([us, share]) => ({ phase: phase.name, us, share })));
    const nodes = suites.map((suite) => {
      const box = document.createElement("div");
      box.className = "small";
      box.dataset.name = suite.label;
      const title = document.createElement("p");
      title.textContent = suite.label;
      const points = lines(suite);
      box.append(title, Plot.plot({
        width, height: 190, marginLeft: 46, marginBottom: 30, marginTop: 8, marginRight: 14,
        x: { type: "log", axis: null },
        y: { type: "log", axis: null },
        marks: [
          gridX({ ticks: 4 }),
          axisX({ ticks: 4, tickFormat: axisTime }),
          Plot.gridY({ ticks: 4, stroke: "var(--rule)", strokeOpacity: 1 }),
          Plot.axisY({ ticks: 4, tickFormat: (y) => `${+(100 * y).toPrecision(2)} %`, tickSize: 0, fontSize: 11, label: null, color: "var(--muted)" }),
          Plot.line(points, { x: "us", y: "share", z: "phase", stroke: { value: (point) => phaseColour(point.phase), scale: null }, strokeWidth: 2 }),
        ],
      }));
      return box;
    });
    const phases = [...new Set(suites.flatMap((suite) => suite.phases.filter((phase) => phase.tail).map((phase) => phase.name)))];
    return { nodes, legend: phases.map((name) => ({ label: name, colour: phaseColour(name), shape: "line" })) };
  };

  const palette = ["var(--cool-1)", "var(--warm-1)", "var(--cool-3)", "var(--warm-2)", "var(--other-1)", "var(--cool-2)"];
  pqcostCharts.threads = ({ track, width, provider }) => {
    const points = track.threads.filter((point) => !provider || point.provider === provider);
    if (!points.length) return null;
    const several = new Set(points.map((point) => point.provider)).size > 1;
    const name = (point) => point.suite + (several ? `, ${point.provider}` : "");
    const names = [...new Set(points.map(name))];
    const colour = (point) => palette[names.indexOf(name(point)) % palette.length];
    const ideal = points.filter((point) => point.threads === 1).flatMap((one) => {
      const most = Math.max(...points.filter((point) => name(point) === name(one)).map((point) => point.threads));
      return [{ ...one, threads: 1 }, { ...one, threads: most, rate: one.rate * most }];
    });
    const counts = [...new Set(points.map((point) => point.threads))].sort((a, b) => a - b);
    return {
      legend: names.map((label, at) => ({ label, colour: palette[at % palette.length], shape: "line" })),
      nodes: [Plot.plot({
        width, height: 280, marginLeft: 62, marginBottom: 42, marginTop: 12,
        x: { label: null, ticks: counts, axis: null },
        y: { axis: null, domain: [0, Math.max(...points.map((point) => point.rate))], nice: true },
        marks: [
          Plot.gridY({ stroke: "var(--rule)", strokeOpacity: 1, ticks: 5 }),
          Plot.axisY({ tickSize: 0, fontSize: 11, label: null, color: "var(--muted)", ticks: 5, tickFormat: group }),
          axisX({ ticks: counts, tickFormat: (n) => `${n} thread${n === 1 ? "" : "s"}` }),
          Plot.line(ideal, { x: "threads", y: "rate", z: name, stroke: { value: colour, scale: null }, strokeWidth: 1, strokeDasharray: "1 4", clip: true }),
          Plot.line(points, { x: "threads", y: "rate", z: name, stroke: { value: colour, scale: null }, strokeWidth: 2.2 }),
          Plot.dot(points, { x: "threads", y: "rate", r: 4, fill: { value: colour, scale: null },
            title: (point) => `${name(point)}\n${group(point.rate)} a second with ${point.threads} thread${point.threads === 1 ? "" : "s"}`, ...tips }),
        ],
      })],
    };
  };
})();
