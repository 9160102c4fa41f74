"use strict";
/* What all pages share: their data, charts with a legend, and colours for light and dark. */
const page = (() => {
  const content = JSON.parse(document.getElementById("content").textContent);
  const arrays = { f4: Float32Array, f8: Float64Array, i4: Int32Array };
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  // A light colour of the charts, and the one that is as easily seen on dark ground.
  const onDark = {
    "#000000": "#f2f4f6", "#0072b2": "#4fb0f5", "#d55e00": "#ff8f4a", "#009e73": "#35d3a3",
    "#cc79a7": "#eaa3cb", "#56b4e9": "#a3dcff", "#e69f00": "#ffc558", "#888888": "#9aa4ae",
  };
  const charts = new Map();
  // On paper everything is as on a light screen.
  let printing = false;

  function unpack({ kind, bytes }) {
    const text = atob(bytes), raw = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) raw[i] = text.charCodeAt(i);
    return new arrays[kind](raw.buffer);
  }

  function shade(colour) {
    return dark.matches && !printing ? onDark[colour.toLowerCase()] ?? lighter(colour) : colour;
  }

  /** A colour that is too dark for dark ground, mixed with white. */
  function lighter(colour) {
    const parts = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
    const light = (0.3 * parts[0] + 0.6 * parts[1] + 0.1 * parts[2]) / 255;
    const mixed = parts.map((one) => Math.round(one + Math.max(0, 0.6 - light) * (255 - one)));
    return "#" + mixed.map((one) => one.toString(16).padStart(2, "0")).join("");
  }

  /** A number as people read it; a dash for none. */
  function show(value, digits = 4) {
    if (value === null || value === undefined || !Number.isFinite(value)) return "–";
    if (value === 0 || Math.abs(value) < 1e-12) return "0";
    const size = Math.abs(value);
    const text = size >= 1e5 || size < 1e-3 ? value.toExponential(2) : String(+value.toPrecision(digits));
    return text.replace("-", "−");
  }

  class Chart {
    constructor(target, figure) {
      this.target = target;
      this.figure = figure;
      this.painted = [];
      for (const renderer of figure.renderers) {
        for (const part of ["line_color", "fill_color", "hatch_color"]) {
          const spec = renderer.glyph?.[part];
          if (typeof spec?.value === "string") this.painted.push([renderer.glyph, part, spec.value]);
        }
      }
    }

    /** New columns for the source of that name. */
    set(name, columns) {
      const source = this.figure.document.get_model_by_name(name);
      source.data = columns;
    }

    cursor(at) {
      for (const span of this.figure.center.concat(this.figure.renderers)) {
        if (span.name === "cursor") span.location = at;
      }
    }

    range(axis, low, high) {
      const pad = (high - low || 1) * 0.06;
      this.figure[axis].setv({ start: low - pad, end: high + pad });
    }

    show(name, visible) {
      for (const renderer of this.figure.renderers) {
        if (renderer.name === name) renderer.visible = visible;
      }
    }

    paint() {
      const style = getComputedStyle(document.documentElement);
      const [ink, line] = ["--ink", "--line"].map((v) => style.getPropertyValue(v).trim());
      const figure = this.figure;
      for (const axis of [...figure.below, ...figure.left]) {
        axis.setv({
          axis_label_text_color: ink, major_label_text_color: ink, axis_line_color: ink,
          major_tick_line_color: ink, minor_tick_line_color: null,
        });
      }
      for (const item of figure.center) {
        if ("grid_line_color" in item) item.grid_line_color = line;
        if (item.name === "cursor") item.line_color = shade("#888888");
      }
      for (const [glyph, part, colour] of this.painted) glyph[part] = { value: shade(colour) };
    }

    /** Check boxes, one for each name, that show and hide its lines. */
    legend() {
      const place = document.getElementById(this.target);
      const list = document.createElement("fieldset");
      list.className = "legend";
      list.setAttribute("aria-label", "lines shown");
      const seen = new Map();
      for (const renderer of this.figure.renderers) {
        if (renderer.name && renderer.glyph?.line_color?.value && renderer.glyph.line_dash && !seen.has(renderer.name)) {
          seen.set(renderer.name, renderer.glyph);
        }
      }
      for (const [name, glyph] of seen) {
        const label = document.createElement("label"), box = document.createElement("input");
        box.type = "checkbox";
        box.checked = true;
        box.addEventListener("change", () => this.show(name, box.checked));
        const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
        const stroke = document.createElementNS("http://www.w3.org/2000/svg", "line");
        for (const [key, value] of Object.entries({ x1: 0, x2: 26, y1: 4, y2: 4, "stroke-width": 3 })) {
          stroke.setAttribute(key, value);
        }
        const dash = glyph.line_dash.value ?? glyph.line_dash;
        const dashes = { dashed: "6", dotted: "2 4", dotdash: "2 4 6 4", dashdot: "6 4 2 4" };
        stroke.setAttribute("stroke-dasharray", Array.isArray(dash) ? dash.join(" ") : dashes[dash] ?? "");
        const tint = () => stroke.setAttribute("stroke", glyph.line_color.value);
        tint();
        dark.addEventListener("change", () => setTimeout(tint));
        svg.setAttribute("aria-hidden", "true");
        svg.append(stroke);
        label.append(box, svg, document.createTextNode(name));
        list.append(label);
      }
      if (seen.size > 1) place.after(list);
    }
  }

  async function embed(item) {
    const views = await Bokeh.embed.embed_item(item);
    const figure = (views.roots ?? Object.values(views))[0].model;
    const chart = new Chart(item.target_id, figure);
    chart.paint();
    chart.legend();
    charts.set(item.target_id, chart);
  }

  function start() {
    if (!content.charts.length) return;
    Bokeh.set_log_level("warn");
    const repaint = () => charts.forEach((chart) => chart.paint());
    dark.addEventListener("change", repaint);
    window.addEventListener("beforeprint", () => { printing = true; repaint(); });
    window.addEventListener("afterprint", () => { printing = false; repaint(); });
  }

  /** All charts at once. */
  async function draw() {
    start();
    for (const item of content.charts) await embed(item);
    return charts;
  }

  /** Each chart when it comes near the screen, the others when there is time: paper shows all. */
  function drawLater() {
    start();
    const items = new Map(content.charts.map((item) => [item.target_id, item]));
    const take = (id) => {
      const item = items.get(id);
      if (!item) return null;
      items.delete(id);
      watch.unobserve(document.getElementById(id));
      return embed(item);
    };
    const watch = new IntersectionObserver((entries) => {
      for (const entry of entries) if (entry.isIntersecting) take(entry.target.id);
    }, { rootMargin: "600px" });
    for (const id of items.keys()) watch.observe(document.getElementById(id));
    const idle = window.requestIdleCallback ?? ((call) => setTimeout(call, 200));
    const next = async () => {
      const [id] = items.keys();
      if (id === undefined) { document.body.dataset.drawn = "yes"; return; }
      await take(id);
      idle(next);
    };
    idle(next);
    window.addEventListener("beforeprint", () => { for (const id of [...items.keys()]) take(id); });
  }

  /** Calls `step` every so many milliseconds while the button is pressed in; space presses it. */
  function player(button, milliseconds, step) {
    let timer = null;
    const toggle = () => {
      const play = timer === null;
      if (play) timer = setInterval(step, milliseconds());
      else { clearInterval(timer); timer = null; }
      button.setAttribute("aria-pressed", String(play));
      button.textContent = play ? "Pause" : "Play";
    };
    button.addEventListener("click", toggle);
    document.addEventListener("keydown", (event) => {
      const own = event.target.closest("button, select, summary, a, input:not([type=range])");
      if (event.key === " " && !own) { event.preventDefault(); toggle(); }
    });
    return { stop: () => { if (timer !== null) toggle(); } };
  }

  return { data: content.data, unpack, show, shade, draw, drawLater, player, dark };
})();
