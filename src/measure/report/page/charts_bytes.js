// Charts of bytes: on the wire, keys and signatures, chains, first flights, tokens, requests, live.
(() => {
  "use strict";
  const { bytes, axisBytes, multiple, group, hatches, rowLayout, behind, axisX, gridX, tips, chosen, textWidth } = pqcost;

  // Rows of bars that add up. parts: [{name, colour, hatched}], each row has `values` in their order.
  const stacked = (width, rows, parts, { text, extra = () => [], domain, top = 0 } = {}) => {
    const hatch = hatches(parts.map((part) => part.colour));
    const items = rows.flatMap((row) => {
      let at = 0;
      return parts.map((part, i) => ({ key: row.key, label: row.label, part, value: row.values[i] ?? 0, x1: at, x2: (at += row.values[i] ?? 0) }));
    }).filter((item) => item.value > 0);
    const ends = rows.map((row) => ({ key: row.key, x: row.values.reduce((a, b) => a + (b ?? 0), 0), text: text(row) }));
    const layout = rowLayout(width, rows, ends.map((end) => end.text));
    return Plot.plot({
      ...layout.options,
      marginTop: layout.options.marginTop + top,
      height: layout.options.height + top,
      x: { domain: [0, domain ?? Math.max(1, ...ends.map((end) => end.x))], axis: null },
      marks: [
        hatch.mark,
        gridX({ ticks: layout.narrow ? 4 : 8 }),
        axisX({ tickFormat: axisBytes, ticks: layout.narrow ? 4 : 8 }),
        Plot.barX(items, {
          x1: "x1", x2: "x2", y: "key", ...layout.insets, insetRight: 0.5,
          fill: { value: (item) => (item.part.hatched ? hatch.fill(item.part.colour) : item.part.colour), scale: null },
          ariaLabel: (item) => `${item.part.name}: ${item.value}`,
          title: (item) => `${item.label}\n${item.part.name}: ${bytes(item.value)}`, ...tips,
        }),
        ...extra(layout),
        behind(ends, layout, "x", "text"),
        layout.names,
      ],
    });
  };
  const sum = (values) => values.reduce((a, b) => a + (b ?? 0), 0);
  const legendOf = (parts) => parts.map((part) => ({ label: part.name, colour: part.colour, hatched: part.hatched }));

  pqcostCharts.wire = (place) => {
    // The bytes are the protocol's, not the library's: once for each suite.
    const seen = new Map();
    for (const suite of chosen(place)) {
      if (!seen.has(suite.name) && sum(suite.wire) > 0) seen.set(suite.name, { key: suite.key, label: suite.name, values: suite.wire });
    }
    const rows = [...seen.values()];
    if (!rows.length) return null;
    const parts = [{ name: "client to server", colour: "var(--cool-1)" }, { name: "server to client", colour: "var(--cool-1)", hatched: true }];
    return { legend: legendOf(parts), nodes: [stacked(place.width, rows, parts, { text: (row) => bytes(sum(row.values)) })] };
  };

  pqcostCharts.sizes = (place) => {
    const seen = new Map();
    for (const suite of chosen(place)) {
      const sizes = suite.sizes ?? {};
      if (seen.has(suite.name) || !sizes.signature || !sizes.public_key) continue;
      seen.set(suite.name, { key: suite.key, label: suite.name, values: [sizes.public_key, sizes.signature] });
    }
    const rows = [...seen.values()];
    if (!rows.length) return null;
    const parts = [{ name: "public key", colour: "var(--cool-1)" }, { name: "signature", colour: "var(--warm-1)", hatched: true }];
    return { legend: legendOf(parts), nodes: [stacked(place.width, rows, parts, { text: (row) => `${group(row.values[0])} + ${group(row.values[1])}` })] };
  };

  pqcostCharts.chains = ({ host, width }) => {
    if (!host.chains.length) return null;
    const rows = host.chains.map((chain, at) => ({ ...chain, key: `r${at}`, label: chain.name, values: [chain.leaf, chain.intermediate] }));
    const parts = [{ name: "leaf", colour: "var(--cool-1)" }, { name: "intermediate", colour: "var(--cool-1)", hatched: true }];
    const text = (row) => bytes(sum(row.values)) + (row.multiple ? `, ${multiple(row.multiple)}` : "");
    return { legend: legendOf(parts), nodes: [stacked(width, rows, parts, { text })] };
  };

  const flightParts = [
    [/^ServerHello$/, "ServerHello", "var(--warm-1)", false],
    [/^(Compressed)?Certificate$/, "Certificate", "var(--cool-1)", false],
    [/^CertificateVerify$/, "CertificateVerify", "var(--cool-1)", true],
    [/^(TLS records|QUIC packets|record overhead)$/, "around the messages", "var(--other-1)", true],
    [/^/, "other messages", "var(--cool-3)", false],
  ];
  const flights = (transport) => ({ host, width }) => {
    const all = host.flights.filter((flight) => flight.transport === transport);
    const plain = all.filter((flight) => !flight.chain.includes(","));
    const shown = plain.length ? plain : all;
    if (!shown.length) return null;
    const groups = new Set(shown.map((flight) => flight.group));
    const several = new Set(shown.map((flight) => `${flight.chain}|${flight.group}`)).size < shown.length;
    const names = [...new Set(flightParts.map((part) => part[1]))];
    const rows = shown.map((flight, at) => {
      const values = names.map(() => 0);
      for (const [name, count] of Object.entries(flight.parts)) values[flightParts.findIndex(([match]) => match.test(name))] += count;
      const rest = flight.bytes - sum(values);
      if (rest > 0) values[4] += rest;
      const text = flight.trips === 0 ? "fits" : `+${flight.trips} round trip${flight.trips === 1 ? "" : "s"}`;
      return { ...flight, key: `r${at}`, values, text: `${group(flight.bytes)}, ${text}`,
        label: flight.chain + (groups.size > 1 ? `, ${flight.group}` : "") + (several ? `, ${flight.windows[0].rule}` : "") };
    });
    const parts = names.map((name, i) => ({ name, colour: flightParts[i][2], hatched: flightParts[i][3] }));
    const windows = rows.flatMap((row) => row.windows.map((window) => ({ ...window, key: row.key, label: row.label })));
    const most = Math.max(...rows.map((row) => sum(row.values)), ...windows.map((window) => window.bytes));
    const extra = (layout) => [
      Plot.tickX(windows, { x: "bytes", y: "key", stroke: "var(--alarm)", strokeWidth: 2, ...layout.insets, insetTop: layout.insets.insetTop - 4, insetBottom: layout.insets.insetBottom - 4,
        title: (window) => `${window.label}\nwindow ${window.rule}: ${bytes(window.bytes)}`, ...tips }),
    ];
    return {
      legend: [...legendOf(parts.filter((part, i) => rows.some((row) => row.values[i] > 0))), { label: "windows", colour: "var(--alarm)", shape: "tick" }],
      nodes: [stacked(width, rows, parts, { text: (row) => row.text, extra, domain: most })],
    };
  };
  pqcostCharts["flights-tcp"] = flights("tcp");
  pqcostCharts["flights-quic"] = flights("quic");

  pqcostCharts.tokens = ({ host, width }) => {
    if (!host.tokens.length) return null;
    const rows = host.tokens.map((token, at) => ({ ...token, key: `r${at}`, label: token.name + (token.draft ? " (draft)" : ""), values: [token.header, token.payload, token.signature] }));
    const parts = [
      { name: "header", colour: "var(--other-1)" },
      { name: "payload", colour: "var(--cool-1)" },
      { name: "signature", colour: "var(--warm-1)", hatched: true },
    ];
    const longest = Math.max(...rows.map((row) => row.total));
    // Limits far beyond every token would only squeeze the bars.
    const near = host.limits.filter((limit) => limit.bytes <= Math.max(17000, longest * 1.1));
    const byBytes = [...d3.group(near, (limit) => limit.bytes)].sort((a, b) => a[0] - b[0])
      .map(([count, limits]) => ({ count, text: limits.map((limit) => limit.name).join("\n") }));
    const domain = Math.max(longest, ...byBytes.map((limit) => limit.count));
    // Lines close together share one number.
    const spaced = ({ options }) => {
      const perPixel = domain / (width - options.marginLeft - options.marginRight);
      let last = -Infinity;
      return byBytes.filter((limit) => {
        const room = (limit.count - last) / perPixel > 44;
        if (room) last = limit.count;
        return room;
      });
    };
    const extra = (layout) => [
      Plot.ruleX(byBytes, { x: "count", stroke: "var(--alarm)", strokeWidth: 1.5, strokeDasharray: "4 3" }),
      Plot.text(spaced(layout), { x: "count", text: (limit) => group(limit.count), frameAnchor: "top", textAnchor: "start", dx: 4, dy: 0, fontSize: 10, fill: "var(--alarm)", stroke: "var(--paper)", strokeWidth: 3 }),
      Plot.tip(byBytes, Plot.pointerX({ x: "count", frameAnchor: "top", title: (limit) => `${bytes(limit.count)}\n${limit.text}`, fontSize: 12, fill: "var(--paper)", stroke: "var(--rule-strong)" })),
    ];
    return {
      legend: [...legendOf(parts), ...(byBytes.length ? [{ label: "documented limits", colour: "var(--alarm)", shape: "tick" }] : [])],
      nodes: [stacked(width, rows, parts, { text: (row) => `${group(row.total)}, ${multiple(row.multiple)}`, extra, domain, top: 16 })],
    };
  };

  pqcostCharts.requests = ({ host, width }) => {
    const kinds = [
      { coding: "hpack", name: "HTTP/2, nghttp2", colour: "var(--cool-1)", symbol: "circle" },
      { coding: "hpack if indexed", name: "HTTP/2, indexed when it fits", colour: "var(--cool-3)", symbol: "triangle" },
      { coding: "qpack", name: "HTTP/3, no table", colour: "var(--warm-1)", symbol: "square" },
    ].filter((kind) => host.tokens.some((token) => token.next?.[kind.coding] !== undefined));
    const shapes = { circle: d3.symbolCircle, triangle: d3.symbolTriangle, square: d3.symbolSquare };
    const shift = (i) => (i - (kinds.length - 1) / 2) * 6;
    const rows = host.tokens.filter((token) => token.next).map((token, at) => ({ ...token, key: `r${at}`, label: token.name + (token.draft ? " (draft)" : "") }));
    if (!rows.length) return null;
    const layout = rowLayout(width, rows);
    const items = rows.flatMap((row) => kinds.filter((kind) => row.next[kind.coding] !== undefined).map((kind) => ({
      key: row.key, label: row.label, ...kind, first: row.first?.[kind.coding], next: Math.max(1, row.next[kind.coding]) })));
    const of = (kind) => items.filter((item) => item.coding === kind.coding);
    return {
      legend: [...kinds.map((kind) => ({ label: `${kind.name}, each further request`, colour: kind.colour, shape: d3.symbol(shapes[kind.symbol], 56)() })),
        { label: "first request", colour: "var(--muted)", shape: "tick" }],
      nodes: [Plot.plot({
        ...layout.options,
        x: { type: "log", axis: null },
        marks: [
          gridX({ ticks: layout.narrow ? 4 : 6 }),
          axisX({ tickFormat: axisBytes, ticks: layout.narrow ? 4 : 6 }),
          ...kinds.flatMap((kind, i) => {
            const dy = layout.middle + shift(i);
            return [
              Plot.ruleY(of(kind).filter((item) => item.first), { x1: "first", x2: "next", y: "key", stroke: kind.colour, strokeWidth: 1.5, strokeDasharray: "2 2", dy }),
              Plot.text(of(kind).filter((item) => item.first), { x: "first", y: "key", text: () => "|", fontWeight: 700, fontSize: 11, fill: kind.colour, dy }),
              Plot.dot(of(kind), { x: "next", y: "key", r: 4, symbol: kind.symbol, fill: kind.colour, dy,
                title: (item) => `${item.label}, ${item.name}\nfirst ${item.first === undefined ? "not known" : bytes(item.first)}, then ${bytes(item.next)} each`, ...tips }),
            ];
          }),
          layout.names,
        ],
      })],
    };
  };

  pqcostCharts.live = ({ host, width }) => {
    const rows = host.live.slice(0, 40).map((live, at) => ({ ...live, key: `r${at}`, values: live.bytes, label: `${live.target}, ${live.transport}${live.group ? `, ${live.group}` : ""}` }));
    if (!rows.some((row) => sum(row.values) > 0)) return null;
    const shorten = (row) => {
      while (textWidth(row.label) > width * 0.6 && row.label.length > 12) row.label = `${row.label.slice(0, -6)}\u2026`;
      return row;
    };
    const parts = [{ name: "from the client", colour: "var(--cool-1)" }, { name: "from the server", colour: "var(--cool-1)", hatched: true }];
    return { legend: legendOf(parts), nodes: [stacked(width, rows.map(shorten), parts, { text: (row) => bytes(sum(row.values)) })] };
  };
})();
