"use strict";
(() => {
  const root = document.documentElement;
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const drawn = new Map(); // element id -> figure name
  const config = { responsive: true, displaylogo: false, displayModeBar: false };

  const ink = () => getComputedStyle(root).getPropertyValue("--ink").trim();
  const ground = () => getComputedStyle(root).getPropertyValue("--panel").trim();

  function draw(place, name) {
    const box = document.getElementById(place);
    const figure = figures[name];
    if (!box || !figure) return null;
    const layout = { ...figure.layout };
    layout.font = { ...layout.font, color: ink() };
    layout.hoverlabel = { bgcolor: ground(), font: { color: ink() } };
    if (box.clientWidth < 520) {
      layout.margin = { ...layout.margin, l: 44, r: 6 };
      if (place === "clusters") {
        layout.height = Math.max(300, box.clientWidth - 20);
        layout.xaxis = { ...layout.xaxis, showticklabels: false };
        layout.yaxis = { ...layout.yaxis, showticklabels: false };
      }
    }
    drawn.set(place, name);
    return Plotly.react(box, figure.data, layout, config);
  }

  function choose(number) {
    const pick = document.getElementById("pick");
    if (!pick || !figures["event-" + number]) return;
    pick.value = number;
    document.querySelectorAll(".events tr").forEach((row) => {
      const button = row.querySelector("button");
      row.classList.toggle("chosen", !!button && button.dataset.event === String(number));
    });
    draw("close-up", "event-" + number);
  }

  document.addEventListener("theme", () => {
    for (const [place, name] of drawn) draw(place, name);
  });

  for (const name of ["score", "shares", "pulse", "clusters"]) draw(name, name);
  const score = document.getElementById("score");
  if (score.on) {
    score.on("plotly_click", (click) => {
      const point = click.points.find((one) => one.customdata !== undefined);
      if (point) show(point.customdata + 1);
    });
  }

  function show(number) {
    if (!figures["event-" + number]) return; // only the most severe ones are drawn
    choose(number);
    document.getElementById("close-up").scrollIntoView({ behavior: "smooth", block: "center" });
  }

  const pick = document.getElementById("pick");
  if (pick) {
    pick.addEventListener("change", () => choose(Number(pick.value)));
    document.querySelectorAll("[data-event]").forEach((button) => {
      button.addEventListener("click", () => show(Number(button.dataset.event)));
    });
    const asked = Number(location.hash.replace("#event-", ""));
    choose(figures["event-" + asked] ? asked : Number(pick.value));
  }
})();
