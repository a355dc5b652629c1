"use strict";
// The score against its threshold, and channels beside what was expected of them.
(() => {
  const box = document.getElementById("chart");
  if (!box) return;
  const FLOOR = 0.01; // score / threshold below which nothing is to be seen
  const SCORE_HIGH = 210;
  const CHANNEL_HIGH = 130;
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  let plots = [];
  let shape = ""; // what is drawn, by name: where it changes, all is made anew
  let shown = null;
  let busy = false;

  const asked = () => JSON.parse(box.dataset.chart);
  const marks = () => JSON.parse(box.dataset.marks);
  const utc = (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC");

  function short(value) {
    if (value === null || value === undefined) return "";
    const size = Math.abs(value);
    return size !== 0 && (size < 1e-3 || size >= 1e6) ? value.toExponential(2) : String(Number(value.toPrecision(4)));
  }

  // Events behind the lines.
  function shade(plot) {
    const { rows, times } = shown;
    const place = (row) => {
      let low = 0;
      let high = rows.length - 1;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (rows[middle] < row) low = middle + 1;
        else high = middle;
      }
      return plot.valToPos(times[low], "x", true);
    };
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    for (const [first, end, alarm, loud] of marks()) {
      if (!rows.length || first > rows[rows.length - 1] || (end !== null && end < rows[0])) continue;
      const from = place(Math.max(first, rows[0]));
      const to = end === null ? bbox.left + bbox.width : place(end);
      ctx.fillStyle = loud ? colour("shade") : "rgba(128, 128, 128, 0.12)";
      ctx.fillRect(from, bbox.top, Math.max(to - from, 2), bbox.height);
      if (alarm >= rows[0]) {
        ctx.fillStyle = loud ? colour("event") : colour("faint");
        ctx.fillRect(place(alarm), bbox.top, Math.max(devicePixelRatio, 1), bbox.height);
      }
    }
    ctx.restore();
  }

  const two = (number) => String(number).padStart(2, "0");

  // Hours and minutes, with seconds where ticks are close; the day where it begins, and at the first tick.
  function clock(_, ticks, axis, space, step) {
    let day = "";
    return ticks.map((at) => {
      const date = utc(at);
      const today = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
      const time = `${two(date.getHours())}:${two(date.getMinutes())}${step < 60 ? `:${two(date.getSeconds())}` : ""}`;
      const text = day === today ? time : step >= 86400 ? today : day ? `${time}\n${today}` : time;
      day = today;
      return text;
    });
  }

  function axes(values) {
    const look = { stroke: colour("faint"), grid: { stroke: colour("quiet"), width: 1 }, ticks: { show: false }, font: "12px system-ui, sans-serif", gap: 4 };
    return [{ ...look, space: 76, size: 26, values: clock }, { ...look, size: 56, ...values, grid: { ...look.grid, ...(values.filter ? { filter: values.filter } : {}) } }];
  }

  function options(extra) {
    return {
      width: Math.max(box.clientWidth, 240),
      tzDate: utc,
      cursor: { sync: { key: "ccmtad" }, drag: { x: true, y: false }, points: { size: 6 } },
      legend: { show: true, live: true },
      padding: [8, 26, 0, 0],
      hooks: { drawClear: [shade] },
      ...extra,
    };
  }

  const moment = { label: "UTC", value: (_, at) => (at === null ? "" : new Date(at * 1000).toISOString().slice(0, 19).replace("T", " ")) };

  function score(data) {
    const tens = (_, ticks) => ticks.map((tick) => (Math.abs(Math.log10(tick) - Math.round(Math.log10(tick))) < 1e-9 ? tick : null));
    return new uPlot(
      options({
        height: SCORE_HIGH,
        scales: { y: { distr: 3, range: (_, low, high) => [FLOOR, Math.max(10, (high || 1) * 1.5)] } },
        axes: axes({ filter: tens, values: (_, ticks) => ticks.map((tick) => (tick === null ? "" : short(tick))) }),
        series: [
          moment,
          { label: "score / threshold", stroke: colour("real"), width: 1.4, points: { show: false }, value: (_, value) => short(value) },
          { label: "threshold", stroke: colour("event"), width: 1.2, dash: [6, 5], points: { show: false }, value: () => "1" },
        ],
      }),
      data,
      panel("Score / threshold"),
    );
  }

  function channel(one, data) {
    const line = { points: { show: false }, value: (_, value) => short(value) };
    return new uPlot(
      options({
        height: CHANNEL_HIGH,
        axes: axes({ values: (_, values) => values.map(short) }),
        bands: [{ series: [4, 3], fill: colour("quiet") }],
        series: [
          moment,
          { ...line, label: "observed", stroke: colour("real"), width: 1.6 },
          { ...line, label: "expected", stroke: colour("expected"), width: 1.6, dash: [2, 3] },
          { ...line, label: "from", stroke: "transparent", width: 0 },
          { ...line, label: "to", stroke: "transparent", width: 0 },
        ],
      }),
      data,
      panel(one.name),
    );
  }

  function panel(title) {
    const part = document.createElement("figure");
    const head = document.createElement("h3");
    head.textContent = title; // a name of the data: text, never markup
    part.append(head);
    box.append(part);
    return part;
  }

  function lines(told) {
    const ratio = told.ratio.map((value) => (value === null ? null : Math.max(value, FLOOR)));
    const all = [[told.time, ratio, told.time.map(() => 1)]];
    for (const one of told.channels) {
      const from = one.expected.map((value) => (value === null ? null : value - one.reach));
      const to = one.expected.map((value) => (value === null ? null : value + one.reach));
      all.push([told.time, one.observed, one.expected, from, to]);
    }
    return all;
  }

  function draw(told) {
    shown = { rows: told.row, times: told.time };
    const data = lines(told);
    const names = JSON.stringify(told.channels.map((one) => one.name)) + document.documentElement.dataset.theme;
    if (names === shape) {
      plots.forEach((plot, i) => plot.setData(data[i]));
      return;
    }
    shape = names;
    plots.forEach((plot) => plot.destroy());
    box.replaceChildren();
    plots = [score(data[0]), ...told.channels.map((one, i) => channel(one, data[i + 1]))];
    box.dataset.drawn = "yes";
  }

  let told = null;

  async function load() {
    if (busy) return;
    busy = true;
    const want = asked();
    const query = new URLSearchParams({ rows: want.rows, points: Math.max(300, Math.min(900, box.clientWidth)) });
    if (want.last !== undefined && want.last !== null) query.set("last", want.last);
    const names = want.channels || (told && told.channels.map((one) => one.name)) || [];
    names.forEach((name) => query.append("channels", name));
    try {
      const answer = await fetch(`/v1/entities/${encodeURIComponent(want.entity)}/trace?${query}`, { cache: "no-store" });
      if (answer.ok) {
        told = await answer.json();
        if (told.row.length) draw(told);
      }
    } catch {
      // the page says that the line is lost
    }
    busy = false;
  }

  addEventListener("resize", () => plots.forEach((plot, i) => plot.setSize({ width: Math.max(box.clientWidth, 240), height: i ? CHANNEL_HIGH : SCORE_HIGH })));
  document.addEventListener("theme", () => told && draw(told));
  document.addEventListener("fresh", load);
  load();
})();
