"use strict";
(() => {
  const root = document.documentElement;
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const channels = JSON.parse(document.getElementById("channels").textContent);
  const THROUGH_TIME = ["score", "channel", "blame"]; // pictures of the whole file: what one is zoomed to, all are
  const BAND = "rgba(232,145,45,0.20)";
  const OWN = "rgba(229,83,75,0.16)";
  const OTHER = "rgba(128,128,128,0.16)";
  const NARROW = 520;
  const coarse = matchMedia("(pointer: coarse)").matches; // there a drag scrolls the page
  const config = { displaylogo: false, displayModeBar: false };
  const drawn = new Map(); // element id -> what makes its figure
  const whole = figures.score.layout.xaxis.range;
  let seen = whole; // of time
  const element = (id) => document.getElementById(id);
  const colour = (name) => getComputedStyle(root).getPropertyValue(name).trim();

  const KINDS = { f8: Float64Array, f4: Float32Array, i4: Int32Array, i2: Int16Array, i1: Int8Array, u1: Uint8Array, u2: Uint16Array, u4: Uint32Array };

  // Numbers as plotly's JSON packs them.
  function unpacked(text, kind) {
    const bytes = Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
    return new KINDS[kind](bytes.buffer);
  }

  const numbers = (given) => (given && given.bdata ? unpacked(given.bdata, given.dtype) : given || []);

  // The band around what was expected in which normal rows stay: one outline for each stretch without a hole.
  function band(trace) {
    const reach = trace.meta && trace.meta.reach;
    if (!reach) return [];
    const [x, y] = [numbers(trace.x), numbers(trace.y)];
    const [across, up] = [[], []];
    for (let first = 0; first < x.length; first++) {
      if (!Number.isFinite(y[first])) continue;
      let last = first;
      while (last + 1 < x.length && Number.isFinite(y[last + 1])) last++;
      for (let i = first; i <= last; i++) { across.push(x[i]); up.push(y[i] + reach); }
      for (let i = last; i >= first; i--) { across.push(x[i]); up.push(y[i] - reach); }
      across.push(null);
      up.push(null);
      first = last;
    }
    const look = { mode: "lines", line: { width: 0 }, fill: "toself", fillcolor: BAND, hoverinfo: "skip", name: "normal" };
    return [{ ...look, x: across, y: up, xaxis: trace.xaxis, yaxis: trace.yaxis, legendgroup: "normal", showlegend: trace.showlegend !== false }];
  }

  function draw(place, make) {
    const box = element(place);
    const figure = make();
    if (!box || !figure || !box.clientWidth) return;
    drawn.set(place, make);
    const layout = structuredClone(figure.layout); // plotly keeps its zoom in it
    const linked = THROUGH_TIME.includes(place);
    layout.width = box.clientWidth;
    if (linked) Object.assign(layout.xaxis, { range: [...seen], autorange: false });
    else layout.uirevision = figure.revision || place; // keeps its zoom when it is drawn again
    layout.font = { ...layout.font, color: colour("--ink") };
    layout.hoverlabel = { bgcolor: colour("--panel"), font: { color: colour("--ink") } };
    layout.dragmode = coarse ? false : "zoom";
    if (box.clientWidth < NARROW) {
      layout.margin = { ...layout.margin, l: 44, r: 6 };
      if (layout.legend) {
        layout.legend = { ...layout.legend, x: 0, xanchor: "left", y: 0, yref: "container", yanchor: "bottom" };
        layout.margin.b = 84;
        layout.height += 44;
      }
      if (place === "clusters") {
        layout.height = Math.max(300, box.clientWidth - 20);
        layout.xaxis = { ...layout.xaxis, showticklabels: false };
        layout.yaxis = { ...layout.yaxis, showticklabels: false };
      }
    }
    const bands = figure.data.flatMap(band);
    const data = place === "blame" ? figure.data.map((one) => ({ ...one, showscale: box.clientWidth >= NARROW })) : figure.data;
    const fresh = !box.on;
    Plotly.react(box, [...bands, ...data], layout, { ...config, doubleClick: linked ? false : "reset" });
    if (!fresh) return;
    if (linked) {
      box.on("plotly_relayout", () => zoom(range(place)));
      box.on("plotly_doubleclick", () => zoom(whole));
    }
    new ResizeObserver(() => again(place)).observe(box);
  }

  function again(place) {
    const box = element(place);
    if (box.clientWidth && box.layout && box.clientWidth !== box.layout.width) draw(place, drawn.get(place));
  }

  const plain = (name) => () => figures[name];
  const range = (place) => element(place).layout.xaxis.range;
  const moment = (end) => (typeof end === "number" ? end : Date.parse(/[zZ]$/.test(end) ? end : end.replace(" ", "T") + "Z"));
  const same = (one, other) => one.every((end, i) => Math.abs(moment(end) - moment(other[i])) < 1e-6 * Math.abs(moment(other[0]) - moment(other[1])) + 1e-9);

  function zoom(to) {
    seen = [...to];
    for (const place of THROUGH_TIME) {
      if (drawn.has(place) && !same(range(place), to)) Plotly.relayout(place, { "xaxis.range": [...to] });
    }
    const tall = height(to);
    if (String(element("channel").layout.yaxis.range) !== String(tall)) Plotly.relayout("channel", { "yaxis.range": tall });
    const zoomed = !same(to, whole);
    document.querySelectorAll("[data-reset]").forEach((button) => { button.hidden = !zoomed; });
  }

  // One channel, put into the figure that waits for it.
  const x = unpacked(channels.x, "f8");
  let lines = []; // of the channel that is drawn: values, and how far around them must be seen

  // From the lowest to the highest of what is drawn between two moments.
  function height(to) {
    const [first, last] = to.map(moment);
    let [low, high] = [Infinity, -Infinity];
    for (const [values, more] of lines) {
      for (let i = 0; i < values.length; i++) {
        if (x[i] < first || x[i] > last) continue;
        if (values[i] - more < low) low = values[i] - more;
        if (values[i] + more > high) high = values[i] + more;
      }
    }
    if (low > high) [low, high] = [0, 1];
    const room = (high - low) * 0.05 || 1;
    return [low - room, high + room];
  }

  function channel(number) {
    const one = channels.channels[number];
    const real = unpacked(one.real, "f4");
    const few = unpacked(one.expected, "f4");
    const expected = few.length === x.length ? few : Float32Array.from(x, (_, i) => few[i >> 1]);
    lines = [[real, 0], [expected, one.reach || 0]];
    const [low, high] = height(whole);
    const across = one.silent.flatMap(([a, b]) => [a, a, b, b, null]);
    const up = one.silent.flatMap(() => [low, high, high, low, null]);
    const [hatch, measured, told] = figures.channel.data;
    const blaming = new Set(one.events);
    const shapes = channels.events.map(([a, b], i) => ({
      type: "rect", xref: "x", yref: "y domain", x0: a, x1: b, y0: 0, y1: 1, layer: "below", line: { width: 0 },
      fillcolor: blaming.has(i) ? OWN : OTHER,
    }));
    const layout = { ...figures.channel.layout, shapes: [...shapes, ...(figures.channel.layout.shapes || [])] };
    layout.yaxis = { ...layout.yaxis, range: height(seen), autorange: false };
    const data = [
      { ...hatch, x: across, y: up, showlegend: across.length > 0 },
      { ...measured, x, y: real },
      { ...told, x, y: expected, meta: { reach: one.reach } },
    ];
    return { data, layout };
  }

  function chooseChannel(number) {
    const pick = element("channel-pick");
    pick.value = String(number);
    draw("channel", () => channel(number));
  }

  function choose(number) {
    const pick = element("pick");
    if (!pick || !figures["event-" + number]) return;
    pick.value = number;
    document.querySelectorAll(".told tr").forEach((row) => {
      row.classList.toggle("chosen", row.dataset.number === String(number));
    });
    element("said").textContent = pick.selectedOptions[0].dataset.said;
    element("near-number").textContent = number;
    draw("close-up", () => ({ ...figures["event-" + number], revision: number }));
  }

  function show(number) {
    if (!figures["event-" + number]) return; // only the most severe ones are drawn
    choose(number);
    element("one").scrollIntoView({ behavior: "smooth", block: "start" });
  }

  document.addEventListener("theme", () => {
    for (const [place, make] of drawn) draw(place, make);
  });

  draw("score", plain("score"));
  element("score").on("plotly_click", (click) => {
    const point = click.points.find((one) => one.customdata !== undefined);
    if (point) show(point.customdata + 1);
  });
  const channelPick = element("channel-pick");
  channelPick.addEventListener("change", () => chooseChannel(Number(channelPick.value)));
  chooseChannel(Number(channelPick.value));
  if (figures.blame) {
    draw("blame", plain("blame"));
    element("blame").on("plotly_click", (click) => {
      const number = channels.channels.findIndex((one) => one.name === click.points[0].customdata);
      if (number < 0) return;
      chooseChannel(number);
      element("any").scrollIntoView({ behavior: "smooth", block: "start" });
    });
  }
  document.querySelectorAll("[data-reset]").forEach((button) => {
    button.addEventListener("click", () => zoom(whole));
  });
  document.querySelectorAll("details[data-figures]").forEach((fold) => {
    fold.addEventListener("toggle", () => {
      if (fold.open) for (const name of fold.dataset.figures.split(" ")) draw(name, plain(name));
    });
  });

  const pick = element("pick");
  if (pick) {
    const step = (by) => {
      const at = pick.selectedIndex + by;
      if (at >= 0 && at < pick.options.length) choose(Number(pick.options[at].value));
    };
    pick.addEventListener("change", () => choose(Number(pick.value)));
    element("before").addEventListener("click", () => step(-1));
    element("after").addEventListener("click", () => step(1));
    element("near").addEventListener("click", () => zoom(figures["event-" + pick.value].layout.xaxis.range));
    document.querySelectorAll("[data-number]").forEach((row) => {
      row.addEventListener("click", () => show(Number(row.dataset.number)));
    });
    const asked = Number(location.hash.replace("#event-", ""));
    choose(figures["event-" + asked] ? asked : Number(pick.value));
  }
})();
