"use strict";
/* The horizon explorer: maps, a state's numbers and charts, for the horizon and weighting chosen. */
(async () => {
  const { data, unpack, show } = page;
  const H = data.horizon, S = data.states, A = data.actions.length;
  const model = {
    states: S, actions: A, first: unpack(data.model.first), next: unpack(data.model.next),
    chance: unpack(data.model.chance), reward: unpack(data.model.reward),
  };
  const place = unpack(data.place);
  const policy = data.policy && unpack(data.policy);
  const learnedArray = data.learned && unpack(data.learned.array);
  const control = policy === null;
  const decided = [...Array(S).keys()].filter((s) => data.reached[s]);
  const element = (id) => document.getElementById(id);
  const every = Array.from({ length: H }, (_, i) => i + 1);
  const now = { h: +element("h").value, state: data.start, weighting: null };
  const paid = [Math.min(0, ...model.reward), Math.max(0, ...model.reward)];
  let sides = {};

  // Values of both sides: v[h-1][state], q[h-1][pair] or null, best[h-1][pair] or null.

  function perHorizon(table, count) {
    return every.map((h) => Float64Array.from({ length: count }, (_, i) => table[i * H + h - 1]));
  }

  function overActions(table) {
    const states = new Float64Array(S * H);
    for (let pair = 0; pair < S * A; pair++) {
      const s = Math.floor(pair / A);
      for (let k = 0; k < H; k++) states[s * H + k] += policy[pair] * table[pair * H + k];
    }
    return states;
  }

  function side(v, q, ties, rewards = null) {
    return { v, q, rewards, best: q && q.map((one) => horizons.greedy(one, S, A, ties)) };
  }

  function ofActions(q, ties) {
    const v = q.map((one) => Float64Array.from({ length: S }, (_, s) => Math.max(...one.subarray(s * A, (s + 1) * A))));
    return side(v, q, ties);
  }

  function ofRewards(rewards, hasActions, weighting, ties) {
    const states = hasActions ? overActions(rewards) : rewards;
    const v = perHorizon(horizons.fromRewards(states, H, weighting), S);
    const ordered = hasActions && weighting.kind !== "fourier";
    const q = ordered ? perHorizon(horizons.fromRewards(rewards, H, weighting), S * A) : null;
    return side(v, q, ties, states);
  }

  const exactRewards = control ? null : horizons.policyRewards(model, policy, H);

  function learnedSide(weighting) {
    const held = data.learned;
    if (!held) return null;
    if (held.rewards) return ofRewards(learnedArray, held.actions, weighting, data.ties.learned);
    const own = held.weighting.kind === weighting.kind && held.weighting.value === weighting.value;
    if (!own) return null;
    const q = perHorizon(learnedArray, held.actions ? S * A : S);
    if (control) return ofActions(q, data.ties.learned);
    const v = held.actions ? perHorizon(overActions(learnedArray), S) : q;
    return side(v, held.actions ? q : null, data.ties.learned);
  }

  function compute(weighting) {
    const exact = control
      ? ofActions(horizons.optimal(model, weighting, H), data.ties.exact)
      : ofRewards(exactRewards, true, weighting, data.ties.exact);
    sides = { exact, learned: learnedSide(weighting) };
  }

  // Maps.

  const CELL = 60, svgNames = "http://www.w3.org/2000/svg";
  const rows = Math.max(...along(0)) + 1, columns = Math.max(...along(1)) + 1;
  function along(axis) { return Array.from({ length: S }, (_, s) => place[2 * s + axis]); }
  const wide = columns > 2 * rows && columns > 8;
  document.querySelector(".maps").classList.toggle("wide", wide);
  const numbers = columns <= (wide ? 24 : 10);
  const middle = numbers ? 20 : 30, reach = numbers ? 14 : 20;
  const directions = {
    up: [0, -1], north: [0, -1], down: [0, 1], south: [0, 1],
    left: [-1, 0], west: [-1, 0], right: [1, 0], east: [1, 0],
  };
  const arrows = data.actions.map((name) => {
    const found = directions[name.toLowerCase()];
    if (!found) return null;
    const [dx, dy] = found, x = 30 + reach * dx, y = middle + reach * dy, b = 7;
    return `M${30 + 3 * dx} ${middle + 3 * dy}L${x} ${y}M${x - b * dx - b * dy} ${y - b * dy - b * dx}L${x} ${y}L${x - b * dx + b * dy} ${y - b * dy + b * dx}`;
  });
  const dot = `M28.5 ${middle}a1.5 1.5 0 1 0 3 0a1.5 1.5 0 1 0 -3 0`;
  // Black or white, whichever stands out more: they are alike on a ground of luminance 0.179.
  const inks = data.palette.map((colour) => {
    const [r, g, b] = [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16) / 255)
      .map((v) => (v <= 0.04 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000" : "#fff";
  });
  const maps = {};

  function make(name, attributes, parent) {
    const made = document.createElementNS(svgNames, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    parent.append(made);
    return made;
  }

  function stateName(s) {
    if (data.names) return `State ${s}: ${data.names[s]}`;
    return data.walls ? `State ${s} (row ${place[2 * s] + 1}, column ${place[2 * s + 1] + 1})` : `State ${s}`;
  }

  function buildMap(name) {
    const svg = element(`map-${name}`);
    if (!svg) return;
    svg.setAttribute("viewBox", `0 0 ${columns * CELL} ${rows * CELL}`);
    if (data.walls) make("rect", { class: "wall", width: columns * CELL, height: rows * CELL, rx: 4 }, svg);
    const cells = [];
    for (let s = 0; s < S; s++) {
      const kind = data.ends[s] ? " end" : data.reached[s] ? "" : " unreached";
      const at = `translate(${place[2 * s + 1] * CELL} ${place[2 * s] * CELL})`;
      const group = make("g", { class: `cell${kind}`, transform: at, role: "button", tabindex: -1, "data-state": s }, svg);
      const rect = make("rect", { x: 1, y: 1, width: CELL - 2, height: CELL - 2 }, group);
      const begins = data.starts.includes(s) && data.starts.length < S / 2;
      if (begins) group.dataset.start = "yes";
      const ring = begins ? make("circle", { class: "ring", cx: 10, cy: 10, r: 5 }, group) : null;
      const path = make("path", {}, group);
      const label = make("text", { x: 30, y: middle + 5, "font-size": 14 }, group);
      const number = make("text", { x: 30, y: 52, "font-size": 14 }, group);
      group.addEventListener("click", () => select(s, name, true));
      cells.push({ group, rect, path, label, number, ring });
    }
    for (const [row, column, text] of data.labels) {
      make("text", { class: "title", x: (column + 2.5) * CELL, y: row * CELL + 42, "font-size": 34 }, svg).textContent = text;
    }
    svg.addEventListener("keydown", (event) => {
      const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      if (move) { event.preventDefault(); select(neighbour(now.state, ...move), name, true); }
      if (event.key === "Enter") { event.preventDefault(); select(+event.target.dataset.state, name, true); }
    });
    maps[name] = cells;
  }

  /** The nearest state in a straight line, or the same one at the edge. */
  function neighbour(s, down, across) {
    let nearest = s, least = Infinity;
    for (let other = 0; other < S; other++) {
      const dy = place[2 * other] - place[2 * s], dx = place[2 * other + 1] - place[2 * s + 1];
      const forward = dy * down + dx * across, aside = Math.abs(dy * across) + Math.abs(dx * down);
      if (forward > 0 && aside === 0 && forward < least) { nearest = other; least = forward; }
    }
    return nearest;
  }

  function bounds() {
    let low = Infinity, high = -Infinity;
    for (const one of Object.values(sides)) {
      if (!one) continue;
      for (let s = 0; s < S; s++) {
        if (data.ends[s]) continue;
        low = Math.min(low, one.v[now.h - 1][s]);
        high = Math.max(high, one.v[now.h - 1][s]);
      }
    }
    return [low, high];
  }

  // Ends are told apart by what is paid there: the goal pays most.
  const endings = new Set(data.endings.filter((one) => one !== null));
  const most = Math.max(...endings);

  function ending(s) {
    if (endings.size < 2) return "end";
    return data.endings[s] === most && most > 0 ? "goal" : data.hole;
  }

  function actionText(best, s) {
    const named = data.actions.filter((_, a) => best[s * A + a] && !arrows[a]);
    return named.map((name) => (name.length > 7 ? `${name.slice(0, 6)}…` : name)).join(" ");
  }

  function paintMap(name, [low, high]) {
    const cells = maps[name], one = sides[name], last = data.palette.length - 1;
    if (!cells) return;
    const values = one?.v[now.h - 1], best = one?.best?.[now.h - 1];
    for (let s = 0; s < S; s++) {
      const { rect, path, label, number, ring } = cells[s];
      if (data.ends[s] || !one) {
        rect.style.fill = "var(--soft)";
        path.setAttribute("d", "");
        label.style.fill = number.style.fill = "var(--ink)";
        label.textContent = data.ends[s] ? ending(s) : "–";
        const paidThere = data.ends[s] && numbers && endings.size > 1 ? data.endings[s] : null;
        number.textContent = paidThere ? `${paidThere > 0 ? "+" : ""}${show(paidThere, 3)}` : "";
        if (ring) ring.style.stroke = "var(--ink)";
        continue;
      }
      const shade = high > low ? Math.round(((values[s] - low) / (high - low)) * last) : last >> 1;
      const ink = inks[shade];
      rect.style.fill = data.palette[shade];
      path.style.stroke = label.style.fill = number.style.fill = ink;
      if (ring) ring.style.stroke = ink;
      const text = numbers ? show(values[s], 3) : "";
      number.textContent = text.length > 6 ? show(values[s], 2) : text;
      let drawn = "", ties = 0;
      if (best) {
        for (let a = 0; a < A; a++) {
          if (!best[s * A + a]) continue;
          ties += 1;
          if (arrows[a]) drawn += arrows[a];
        }
      }
      const undecided = ties === A && A > 1;
      path.setAttribute("d", undecided ? dot : drawn);
      label.textContent = best && !undecided ? actionText(best, s) : "";
    }
  }

  // The state chosen.

  function bestNames(one, h, s) {
    const names = data.actions.filter((_, a) => one.best[h - 1][s * A + a]);
    return names.length === A && A > 1 ? "all alike" : names.join(" or ");
  }

  function select(s, name = null, focus = false) {
    for (const cells of Object.values(maps)) {
      const old = cells[now.state].group, fresh = cells[s].group;
      old.classList.remove("selected");
      old.setAttribute("tabindex", -1);
      old.setAttribute("aria-pressed", "false");
      fresh.classList.add("selected");
      fresh.setAttribute("tabindex", 0);
      fresh.setAttribute("aria-pressed", "true");
    }
    now.state = s;
    if (focus) maps[name][s].group.focus();
    paintState();
    paintValues();
    paintAhead();
  }

  /** Digits that show why one action is best and another is not. */
  function enough(columns, best) {
    for (let digits = 5; digits < 12; digits++) {
      const told = columns.every((q) => !q || ![...q].some((x, a) => best?.[a] &&
        [...q].some((y, b) => !best[b] && x !== y && show(x, digits) === show(y, digits))));
      if (told) return digits;
    }
    return 12;
  }

  function paintState() {
    const { h, state: s } = now;
    const what = data.ends[s] ? ", where episodes end" : data.reached[s] ? "" : ", never met from the start";
    element("state-name").textContent = stateName(s) + what;
    const kinds = Object.keys(sides).filter((name) => name === "exact" || data.learned);
    const head = element("numbers").tHead, body = element("numbers").tBodies[0];
    const line = (kind, cells, className = "") => {
      const row = document.createElement("tr");
      row.className = className;
      cells.forEach((text, i) => {
        const cell = document.createElement(kind);
        if (i) cell.className = "number";
        cell.textContent = text;
        row.append(cell);
      });
      return row;
    };
    head.replaceChildren(line("th", [`next ${h} step${h > 1 ? "s" : ""}`, ...kinds]));
    const lines = [line("td", [`V, ${control ? "the best action" : "the policy"}`, ...kinds.map((k) => show(sides[k]?.v[h - 1][s], 5))], "state-value")];
    const digits = sides.exact.q ? enough(kinds.map((k) => sides[k]?.q?.[h - 1].subarray(s * A, (s + 1) * A)), sides.exact.best?.[h - 1].subarray(s * A, (s + 1) * A)) : 5;
    if (sides.exact.q) data.actions.forEach((name, a) => {
      const found = kinds.map((k) => show(sides[k]?.q?.[h - 1][s * A + a], digits));
      lines.push(line("td", [`Q, ${name}`, ...found], sides.exact.best?.[h - 1][s * A + a] ? "best" : ""));
    });
    body.replaceChildren(...lines);
    for (const [name, cells] of Object.entries(maps)) {
      const one = sides[name], value = show(one?.v[h - 1][s]);
      const best = one?.best ? `, best: ${bestNames(one, h, s)}` : "";
      cells[s].group.setAttribute("aria-label", `${stateName(s)}${data.starts.includes(s) ? ", a start" : ""}: ${value}${best}`);
    }
  }

  // Charts.

  function set(chart, name, x, y) {
    if (name.endsWith("learned") && !data.learned) return;
    charts.get(chart)?.set(name, { x, y });
  }

  function paintValues() {
    for (const name of ["exact", "learned"]) {
      const one = sides[name];
      set("chart-value", `value-${name}`, one ? every : [], one ? every.map((h) => one.v[h - 1][now.state]) : []);
    }
  }

  function paintAgreement() {
    const { exact, learned } = sides, share = (f) => (exact.best ? every.map(f) : []);
    const x = exact.best ? every : [], full = (h) => decided.filter((s) => {
      for (let a = 0; a < A; a++) if (!exact.best[h - 1][s * A + a]) return false;
      return true;
    }).length / decided.length;
    set("chart-agree", "agree-final", x, share((h) => horizons.agreement(exact.best[h - 1], exact.best[H - 1], decided, A)));
    set("chart-agree", "agree-undecided", x, share(full));
    const both = exact.best && learned?.best;
    set("chart-agree", "agree-learned", both ? every : [],
      both ? every.map((h) => horizons.agreement(learned.best[h - 1], exact.best[h - 1], decided, A)) : []);
  }

  /** Expected rewards from the chosen state, on each side. */
  function ahead(name) {
    const one = sides[name], { h, state } = now;
    if (!one) return [];
    if (!control) return one.rewards ? Array.from(one.rewards.subarray(state * H, (state + 1) * H)) : [];
    if (data.ends[state]) return [];
    if (element("acting").value === "always") return [...horizons.follow(model, state, H, () => one.best[h - 1])];
    let left = one.best;
    if (now.weighting.kind === "hyperbolic" && name === "exact") {
      // What is left of this horizon's weights is not a hyperbolic weighting of its own.
      left = horizons.recursion(model, now.weighting, h).map((q) => horizons.greedy(q, S, A, data.ties.exact));
    }
    return [...horizons.follow(model, state, h, (j) => left[h - 1 - j])];
  }

  function paintAhead() {
    const seen = [0];
    for (const name of ["exact", "learned"]) {
      const found = ahead(name);
      set("chart-ahead", `ahead-${name}`, every.slice(0, found.length), found);
      seen.push(...found);
    }
    // Under control the rewards change with h, and a scale that moves with them would mislead.
    const shown = control ? paid : seen;
    charts.get("chart-ahead").range("y_range", Math.min(...shown), Math.max(...shown));
  }

  // Text.

  function percent(share) { return `${Math.round(100 * share)}%`; }

  function paintText() {
    const { h } = now, { exact, learned } = sides, parts = [];
    element("h-shown").textContent = `h = ${h} of ${H}`;
    if (exact.best && A > 1) {
      const alike = decided.filter((s) => exact.best[h - 1].subarray(s * A, (s + 1) * A).every(Boolean)).length;
      const same = horizons.agreement(exact.best[h - 1], exact.best[H - 1], decided, A);
      const steps = h === 1 ? "one step" : `${h} steps`;
      if (alike) parts.push(`Within ${steps} every action looks the same in ${alike} of ${decided.length} states.`);
      if (h < H) parts.push(`What is best for h = ${h} is best for H = ${H} too in ${percent(same)} of cases.`);
    }
    if (learned) {
      let worst = 0;
      for (const s of decided) worst = Math.max(worst, Math.abs(learned.v[h - 1][s] - exact.v[h - 1][s]));
      const alike = decided.every((s) => show(learned.v[h - 1][s], 5) === show(exact.v[h - 1][s], 5));
      parts.push(alike ? "Learned values equal the exact ones in all digits shown." : `Learned values are at most ${show(worst, 2)} from the exact ones.`);
    }
    element("insight").textContent = parts.join(" ");
  }

  function paintNotes() {
    const { weighting } = now, parts = [];
    if (control && data.learned && !sides.learned) {
      parts.push("Learned values hold the best of the weighting they were learned with. Under another weighting other " +
        "actions may be best, so it cannot be computed from them: only the exact side is.");
    }
    if (!control && data.learned?.rewards) {
      parts.push("The policy is fixed, so differences between horizons are the expected rewards, and every weighting is " +
        "computed anew from the same learned values.");
    }
    if (!control && data.learned && !sides.learned) {
      parts.push("The learner's weighting hides some rewards, so other weightings cannot be computed from its values.");
    }
    if (weighting.kind === "hyperbolic") parts.push("Every h is taken as the final horizon of its own weighting.");
    if (weighting.kind === "fourier") parts.push("Magnitudes of complex values have no best action, so there are no arrows.");
    if (control) parts.push("Fourier magnitudes need a fixed policy: complex values have no best action.");
    element("note").textContent = parts.join(" ");
    element("ahead-note").textContent = control
      ? "Exact: the best actions by exact values. Learned: the best actions by learned values. What each then brings is " +
        "computed exactly. Differences between the optimal values of two horizons are no rewards: each has its own actions."
      : "Exact, and the differences between the learned values of consecutive horizons.";
    element("acting-place").hidden = !control;
  }

  // What can be changed.

  const parameters = {
    discount: ["discount γ", data.learned?.weighting.kind === "discount" ? data.learned.weighting.value : 1],
    hyperbolic: ["rate k", 1], fourier: ["cycles in H steps", 1],
  };

  function readWeighting(fresh) {
    const kind = element("weighting").value, input = element("parameter"), [name, initial] = parameters[kind] ?? [];
    element("parameter-label").hidden = !name;
    if (kind === "own") now.weighting = data.learned.weighting;
    else if (!name) now.weighting = { kind };
    else {
      if (fresh) input.value = initial;
      element("parameter-name").textContent = name;
      const value = input.valueAsNumber;
      const wrong = Number.isFinite(value) && (value >= 0 || kind === "fourier") ? "" : "a number of at least 0";
      input.setCustomValidity(wrong);
      input.reportValidity();
      if (wrong) return;
      now.weighting = { kind, value };
    }
    compute(now.weighting);
    paintNotes();
    paintValues();
    paintAgreement();
    paintHorizon();
  }

  function paintHorizon() {
    const range = bounds();
    paintMap("exact", range);
    paintMap("learned", range);
    [element("lowest").textContent, element("highest").textContent] = range.map((value) => show(value, 3));
    paintState();
    paintText();
    later();
  }

  // The map answers in the frame of the move; charts, which take longer to draw, in the next one.
  let waiting = false;

  function later() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => setTimeout(() => {
      waiting = false;
      charts.forEach((chart) => chart.cursor(now.h));
      if (control) paintAhead();
    }));
  }

  function setHorizon(h) {
    now.h = h;
    element("h").value = h;
    paintHorizon();
  }

  buildMap("exact");
  buildMap("learned");
  const scale = element("scale").getContext("2d");
  data.palette.forEach((colour, i) => { scale.fillStyle = colour; scale.fillRect(i, 0, 1, 1); });
  if (control) element("weighting").querySelector("[value=fourier]").disabled = true;
  if (data.learned) element("weighting").value = data.learned.weighting.kind;
  const charts = await page.draw();
  readWeighting(true);
  select(now.state);
  element("h").addEventListener("input", (event) => setHorizon(+event.target.value));
  element("weighting").addEventListener("change", () => readWeighting(true));
  element("parameter").addEventListener("input", () => readWeighting(false));
  element("acting").addEventListener("change", paintAhead);
  page.player(element("play"), () => 250, () => setHorizon(now.h < H ? now.h + 1 : 1));
  document.body.dataset.ready = "yes";
})();
