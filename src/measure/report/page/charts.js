// The frame of all charts: their data, their sizes, when they are drawn. What each kind looks like
// is in the other chart files; each adds a function to pqcostCharts that takes a place and returns
// an SVG element, or null where there is nothing to draw.
const pqcostCharts = {};
const pqcost = (() => {
  "use strict";
  const data = JSON.parse(document.getElementById("data").textContent);
  const paperWidth = 700;
  const font = "12px system-ui, sans-serif";
  const ruler = document.createElement("canvas").getContext("2d");
  ruler.font = font;

  // ---- text ----
  const group = (n) => Math.round(n).toLocaleString("en-US");
  const time = (us) => {
    const [value, unit] = us < 999.95 ? [us, "\u00b5s"] : us < 999950 ? [us / 1e3, "ms"] : [us / 1e6, "s"];
    return (value < 9.995 ? value.toFixed(2) : value < 999.95 ? value.toFixed(1) : group(value)) + "\u00a0" + unit;
  };
  const axisTime = (us) => (us < 1e3 ? `${+us.toPrecision(3)} \u00b5s` : us < 1e6 ? `${+(us / 1e3).toPrecision(3)} ms` : `${+(us / 1e6).toPrecision(3)} s`);
  const bytes = (n) => `${group(n)}\u00a0B`;
  const axisBytes = (n) => (n < 1000 ? String(n) : `${+(n / 1000).toPrecision(3)}k`);
  const multiple = (x) => (x < 9.995 ? x.toFixed(2) : x < 99.95 ? x.toFixed(1) : group(x)) + "\u00d7";
  const textWidth = (text) => ruler.measureText(text).width;

  // ---- colours: classical keys are warm, post-quantum ones cool, wherever they appear ----
  const phaseColours = [
    [/second share/i, "var(--other-1)"],
    [/classical.*(key ?gen|generat)/i, "var(--warm-1)"],
    [/classical|derive|agree/i, "var(--warm-2)"],
    [/encap/i, "var(--cool-2)"],
    [/decap/i, "var(--cool-3)"],
    [/verif|decrypt|open/i, "var(--cool-3)"],
    [/sign|encrypt|seal/i, "var(--warm-1)"],
    [/key ?gen|generat/i, "var(--cool-1)"],
  ];
  const phaseColour = (name) => (phaseColours.find(([match]) => match.test(name)) ?? [0, "var(--other-1)"])[1];

  // ---- pieces of SVG ----
  const svg = (tag, attributes = {}) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    return node;
  };
  let patterns = 0;
  // A hatched fill of each colour, so that no meaning hangs on colour alone.
  const hatches = (colours) => {
    const ids = new Map([...new Set(colours)].map((colour) => [colour, `hatch-${++patterns}`]));
    const node = () => {
      const defs = svg("defs");
      for (const [colour, id] of ids) {
        const pattern = svg("pattern", { id, width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" });
        pattern.append(svg("rect", { width: 5, height: 5, fill: colour }), svg("rect", { width: 1.6, height: 5, fill: "var(--paper)" }));
        defs.append(pattern);
      }
      return defs;
    };
    return { mark: node, fill: (colour) => `url(#${ids.get(colour)})` };
  };

  const legend = (entries) => {
    const list = document.createElement("ul");
    list.className = "legend";
    for (const { label, colour, hatched, shape } of entries) {
      const item = document.createElement("li");
      const swatch = svg("svg", { width: 14, height: 12, "aria-hidden": "true" });
      if (shape === "line") swatch.append(svg("line", { x1: 0, x2: 14, y1: 6, y2: 6, stroke: colour, "stroke-width": 2 }));
      else if (shape === "tick") swatch.append(svg("line", { x1: 7, x2: 7, y1: 0, y2: 12, stroke: colour, "stroke-width": 2.5 }));
      else if (shape) swatch.append(svg("path", { d: shape, fill: colour, transform: "translate(7,6)" }));
      else {
        swatch.append(svg("rect", { width: 14, height: 12, rx: 1, fill: colour }));
        if (hatched) for (const x of [-2, 4, 10]) swatch.append(svg("line", { x1: x, y1: 13, x2: x + 6, y2: -1, stroke: "var(--paper)", "stroke-width": 1.6 }));
      }
      item.append(swatch, label);
      list.append(item);
    }
    return list;
  };

  // ---- charts of rows: a name, and something drawn along a line beside it (below it, on a phone) --
  // rows: [{key, label}]; end: what is written behind the marks.
  const rowLayout = (width, rows, end = []) => {
    const narrow = width < 560;
    const labels = Math.max(0, ...rows.map((row) => textWidth(row.label)));
    const marginLeft = narrow ? 2 : Math.min(labels + 14, width * 0.42);
    const marginRight = Math.max(12, ...end.map((text) => textWidth(text) + 14));
    const band = narrow ? 42 : 27;
    return {
      narrow,
      insets: narrow ? { insetTop: 19, insetBottom: 7 } : { insetTop: 5, insetBottom: 5 },
      middle: narrow ? 6 : 0,  // how far the marks' middle lies below the band's
      options: {
        width, marginLeft, marginRight: Math.min(marginRight, width * 0.45), marginTop: 4, marginBottom: 32,
        height: rows.length * band + 36,
        y: { type: "band", domain: rows.map((row) => row.key), axis: null, padding: 0 },
      },
      names: Plot.text(rows, narrow
        ? { y: "key", text: "label", frameAnchor: "left", textAnchor: "start", dy: -12, fontSize: 12, fill: "currentColor" }
        : { y: "key", text: "label", frameAnchor: "left", textAnchor: "end", dx: -10, fontSize: 12, fill: "currentColor" }),
    };
  };
  const behind = (items, layout, x, text) => Plot.text(items, { x, y: "key", text, textAnchor: "start", dx: 9, dy: layout.middle, fontSize: 12, fill: "currentColor", stroke: "var(--paper)", strokeWidth: 4, fontVariant: "tabular-nums" });
  const axisX = (options) => Plot.axisX({ anchor: "bottom", tickSize: 0, tickPadding: 8, fontSize: 11, color: "var(--muted)", label: null, ...options });
  const gridX = (options) => Plot.gridX({ stroke: "var(--rule)", strokeOpacity: 1, ...options });
  const tips = { tip: { fontSize: 12, fill: "var(--paper)", stroke: "var(--rule-strong)" } };

  // ---- drawing ----
  const places = [...document.querySelectorAll("figure.chart")];

  // Plot adds a style element, which the page's policy forbids; the page's own sheet has its rules.
  const clean = (node) => {
    for (const style of node.querySelectorAll("style")) style.remove();
    return node;
  };

  const draw = (place, width) => {
    const kind = pqcostCharts[place.dataset.chart];
    const host = data.hosts[Number(place.dataset.host)];
    const track = host.tracks[place.dataset.track];
    const box = place.querySelector(".plot");
    // A drawing of Plot has a member "legend" of its own.
    const drawn = kind ? kind({ host, track, name: place.dataset.track, width, provider: providerOf(place) }) : null;
    const made = drawn instanceof Element ? { nodes: [drawn] } : drawn;
    place.dataset.width = String(width);
    place.hidden = made === null;
    if (made === null) return;
    const strong = place.querySelector("figcaption strong").textContent;
    const text = place.querySelector("figcaption span").textContent;
    for (const node of made.nodes) {
      const drawing = node.matches("svg") ? node : node.querySelector("svg.plot-drawing, svg[class^=plot]");
      if (!drawing) continue;
      drawing.setAttribute("role", "img");
      drawing.setAttribute("aria-label", `${node.dataset?.name ? node.dataset.name + ". " : ""}${strong} ${text} The figures are in the table.`);
      drawing.classList.add("drawing");
    }
    box.replaceChildren(...(made.legend ? [legend(made.legend)] : []), ...made.nodes.map(clean));
  };

  const drawVisible = () => {
    for (const place of places) {
      if (place.closest("[hidden]") !== null && place.closest("[hidden]") !== place) continue;
      const width = Math.floor(place.parentElement.clientWidth);
      if (width > 0 && place.dataset.width !== String(width)) draw(place, width);
    }
  };
  const drawAll = (width) => {
    for (const place of places) if (place.dataset.width !== String(width)) draw(place, width);
  };

  // ---- one choice of library for the charts of a panel ----
  const providerOf = (place) => place.parentElement.dataset.provider || "";
  const offerProviders = () => {
    for (const place of places) {
      const panel = place.parentElement;
      if (panel.dataset.provider !== undefined || !place.dataset.track || place.dataset.chart === "history") continue;
      const suites = data.hosts[Number(place.dataset.host)].tracks[place.dataset.track]?.suites ?? [];
      const names = [...new Set(suites.map((suite) => suite.provider))];
      panel.dataset.provider = "";
      if (names.length < 2) continue;
      const label = document.createElement("label");
      label.className = "choice";
      const choice = document.createElement("select");
      choice.append(new Option("all libraries", ""), ...names.map((name) => new Option(name, name)));
      label.append("Charts show ", choice);
      place.before(label);
      const most = (name) => suites.filter((suite) => suite.provider === name).length;
      if (suites.length > 14) choice.value = names.reduce((a, b) => (most(b) > most(a) ? b : a));
      panel.dataset.provider = choice.value;
      choice.addEventListener("change", () => {
        panel.dataset.provider = choice.value;
        for (const one of places) if (one.parentElement === panel) { delete one.dataset.width; one.hidden = false; }
        drawVisible();
      });
    }
  };

  addEventListener("DOMContentLoaded", () => {
    offerProviders();
    drawVisible();
    document.addEventListener("panelshown", drawVisible);
    let timer = 0;
    new ResizeObserver(() => {
      clearTimeout(timer);
      timer = setTimeout(drawVisible, 120);
    }).observe(document.getElementById("figures"));
    // Ready for paper also where printing announces nothing.
    const idle = window.requestIdleCallback ?? ((run) => setTimeout(run, 200));
    idle(() => { for (const place of places) if (!place.dataset.width) draw(place, paperWidth); });
  });
  addEventListener("beforeprint", () => drawAll(paperWidth));
  addEventListener("afterprint", drawVisible);

  // Suites of the chosen library; the library is in the name where there are several.
  const chosen = ({ track, provider }) => {
    const suites = track.suites.filter((suite) => !provider || suite.provider === provider);
    const several = new Set(suites.map((suite) => suite.provider)).size > 1;
    return suites.map((suite, at) => ({
      ...suite,
      key: `r${at}`,
      label: suite.name + (several ? `, ${suite.provider}` : "") + (suite.withheld ? " (withheld)" : ""),
    }));
  };

  return { data, time, axisTime, bytes, axisBytes, multiple, group, phaseColour, hatches, rowLayout, behind, axisX, gridX, tips, svg, chosen, textWidth };
})();
