"use strict";
/* The episode viewer: the frame of a step, what was expected then, and what came. */
(async () => {
  const { data, unpack, show } = page;
  const T = data.steps;
  const element = (id) => document.getElementById(id);
  const signals = data.signals.map((one, i) => ({
    ...one, number: i, values: unpack(one.values), came: unpack(one.came), weights: unpack(one.weights),
    place: document.querySelector(`[data-signal="${i}"]`), numbers: document.querySelector(`[data-numbers="${i}"]`),
  }));
  let now = 0;

  const value = (one, t, label, j) => one.values[(t * one.labels.length + label) * one.horizons.length + j];

  /** Where in what came a step begins: further on where earlier actions took several steps. */
  const start = (one, t) => one.starts?.[t] ?? t;

  /** What came of horizon j from step t on; null where the episode was cut off before it was over. */
  function outcome(one, t, j) {
    const horizon = one.horizons[j], first = start(one, t), left = one.came.length - first;
    if (!data.ended && (horizon === null || horizon > left)) return null;
    let sum = 0;
    for (let k = 0; k < Math.min(horizon ?? left, left); k++) sum += one.weights[j * one.reach + k] * one.came[first + k];
    return sum;
  }

  /** Expected reward of each coming step: what each horizon has more than the ones before it. */
  function expected(one, t, label) {
    const count = one.horizons.length, found = new Float64Array(count);
    for (let h = 0; h < count; h++) {
      let known = 0;
      for (let k = 0; k < h; k++) known += one.weights[h * one.reach + k] * found[k];
      found[h] = (value(one, t, label, h) - known) / one.weights[h * one.reach + h];
    }
    return [...found];
  }

  /** Means of so many steps each; the last one of what is left. */
  function binned(x, y, width) {
    if (width === 1) return { x, y };
    const places = [], means = [];
    for (let k = 0; k < y.length; k += width) {
      const part = y.slice(k, k + width);
      places.push((x[k] + x[k + part.length - 1]) / 2);
      means.push(part.reduce((a, b) => a + b, 0) / part.length);
    }
    return { x: places, y: means };
  }

  function chosenHorizon(one) { return +one.place.querySelector(".horizon").value; }

  function paintFrame() {
    element("frame").src = `data:image/webp;base64,${data.frames[Math.floor(now / data.every)]}`;
    element("t-shown").textContent = `${now + 1} of ${T}`;
    const soFar = data.rewards.slice(0, now).reduce((a, b) => a + b, 0);
    element("caption").textContent =
      `Action taken: ${data.actions[data.taken[now]]}. Reward: ${show(data.rewards[now])}. Return so far: ${show(soFar, 6)}.`;
  }

  function paintNumbers(one) {
    const j = chosenHorizon(one), table = one.numbers;
    const horizon = one.horizons[j];
    const row = (kind, cells, className = "") => {
      const made = document.createElement("tr");
      made.className = className;
      cells.forEach((text, i) => {
        const cell = document.createElement(kind);
        if (i) cell.className = "number";
        cell.textContent = text;
        made.append(cell);
      });
      return made;
    };
    const title = horizon === null ? "to the end" : horizon === 1 ? "next step" : `next ${horizon} steps`;
    const counted = one.counted && horizon !== 1 ? `${title}, ${one.counted}` : title;
    table.tHead.replaceChildren(row("th", [counted, "expected", "what came"]));
    const came = show(outcome(one, now, j));
    table.tBodies[0].replaceChildren(...one.labels.map((label, a) => {
      const own = a === one.chosen[now], several = one.labels.length > 1;
      return row("td", [label, show(value(one, now, a, j)), own ? came : ""], own && several ? "taken" : "");
    }));
  }

  function paintEpisode(one) {
    const j = chosenHorizon(one), chart = charts.get(`chart-episode-${one.number}`);
    const steps = Array.from({ length: T }, (_, t) => t);
    const came = steps.map((t) => outcome(one, t, j)), known = steps.filter((t) => came[t] !== null);
    chart.set(`episode-value-${one.number}`, { x: steps, y: steps.map((t) => value(one, t, one.chosen[t], j)) });
    chart.set(`episode-came-${one.number}`, { x: known, y: known.map((t) => came[t]) });
  }

  function paintCharts(one) {
    const i = one.number, over = charts.get(`chart-horizon-${i}`), ahead = charts.get(`chart-ahead-${i}`);
    charts.get(`chart-episode-${i}`).cursor(now);
    if (over) {
      one.labels.forEach((_, a) => over.set(`horizon-${a}-${i}`, { x: one.horizons, y: one.horizons.map((_, j) => value(one, now, a, j)) }));
      const came = one.horizons.map((_, j) => outcome(one, now, j)), known = one.horizons.map((_, j) => j).filter((j) => came[j] !== null);
      over.set(`horizon-came-${i}`, { x: known.map((j) => one.horizons[j]), y: known.map((j) => came[j]) });
    }
    if (ahead) {
      const wanted = one.place.querySelector(".action")?.value ?? "";
      const label = wanted === "" ? one.chosen[now] : +wanted;
      const width = +(one.place.querySelector(".bins")?.value ?? 1);
      ahead.set(`ahead-value-${i}`, binned(one.horizons, expected(one, now, label), width));
      const first = start(one, now);
      const left = data.ended ? one.horizons.length : Math.min(one.horizons.length, one.came.length - first);
      const came = Array.from({ length: left }, (_, k) => one.came[first + k] ?? 0);
      ahead.set(`ahead-came-${i}`, binned(one.horizons.slice(0, left), came, width));
    }
  }

  // The picture answers at once; charts, which take longer, follow in the next frame.
  let waiting = false;

  function later() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => setTimeout(() => {
      waiting = false;
      signals.forEach(paintCharts);
    }));
  }

  function go(t) {
    now = t;
    element("t").value = t;
    paintFrame();
    signals.forEach(paintNumbers);
    later();
  }

  const charts = await page.draw();
  for (const one of signals) {
    paintEpisode(one);
    one.place.querySelector(".horizon").addEventListener("change", () => { paintEpisode(one); paintNumbers(one); });
    for (const choice of one.place.querySelectorAll(".action, .bins")) choice.addEventListener("change", later);
  }
  element("t").addEventListener("input", (event) => go(+event.target.value));
  page.player(element("play"), () => 1000 / Math.min(data.rate, 30), () => go(now + 1 < T ? now + 1 : 0));
  go(0);
  document.body.dataset.ready = "yes";
})();
