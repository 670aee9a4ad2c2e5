import uPlot from "uplot";
import type { Mark } from "./contract";
import type { Curve } from "./curve";
import { show_tick } from "./text";
import { log_ticks } from "./ticks";

/**
 * One chart: uPlot for its axes, cursor and selection; lines, ranges and marks are drawn from our buckets. A bucket is a
 * stroke from its least to its greatest value, so that at any zoom what is seen is what all samples would have drawn.
 */
export interface Line {
  curve: Curve;
  colour: string;
  width: number;
  dash?: number[];
}

export interface Drawing {
  lines: Line[];
  marks: Mark[];
  from: number;
  to: number;
  log: boolean;
  part_at: number | null;
}

export interface Colours {
  ink: string;
  soft: string;
  rule: string;
  bad: string;
  warn: string;
  bad_tint: string;
  warn_tint: string;
  good: string;
  part: string;
  font: string;
}

export const colours_of = (element: Element): Colours => {
  const style = getComputedStyle(element);
  const of = (name: string) => style.getPropertyValue(name).trim();
  return {
    ink: of("--ink"),
    soft: of("--soft"),
    rule: of("--rule"),
    bad: of("--bad"),
    warn: of("--warn"),
    bad_tint: of("--bad-tint"),
    warn_tint: of("--warn-tint"),
    good: of("--good"),
    part: of("--part"),
    font: `11px ${style.fontFamily}`,
  };
};

export interface ChartEvents {
  zoom(from: number, to: number): void;
  reset(): void;
  point(step: number | null): void;
}

const k_axis_width = 58;
const k_axis_height = 26;
/** uPlot has no ticks for larger numbers: an axis of them is drawn in powers of ten of theirs. */
const k_most_of_axis = 1e15;

/** What stands at a place of a logarithmic axis, which is drawn as a plain one of logarithms: uPlot's own ends at 1e17. */
const value_at = (place: number): number =>
  Math.min(Math.max(10 ** place, Number.MIN_VALUE), Number.MAX_VALUE);

export class Chart {
  private readonly plot: uPlot;
  private drawing: Drawing;
  private colours: Colours;
  private by_hand = false;
  private scale = 1;

  constructor(
    private readonly host: HTMLElement,
    drawing: Drawing,
    unit: string,
    private readonly events: ChartEvents,
  ) {
    this.drawing = drawing;
    this.colours = colours_of(host);
    const size = this.size();
    this.plot = new uPlot(
      {
        ...size,
        pxAlign: 1,
        legend: { show: false },
        focus: { alpha: 1 },
        cursor: {
          y: false,
          points: { show: false },
          drag: { x: true, y: false, setScale: false },
          bind: {
            dblclick: () => () => {
              this.events.reset();
              return null;
            },
          },
        },
        scales: {
          x: { time: false, range: () => [this.drawing.from, this.drawing.to] },
          y: { range: () => this.y_range() },
        },
        axes: [
          {
            stroke: () => this.colours.soft,
            font: this.colours.font,
            grid: { show: false },
            ticks: { stroke: () => this.colours.rule, width: 1, size: 4 },
            size: k_axis_height,
            gap: 4,
            space: 70,
            incrs: k_step_increments,
            values: (_, splits) => splits.map(show_step),
          },
          {
            stroke: () => this.colours.soft,
            font: this.colours.font,
            grid: {
              stroke: () => this.colours.rule,
              width: 1,
            },
            ticks: { show: false },
            size: k_axis_width,
            gap: 8,
            space: 34,
            ...(unit === "bytes" && !drawing.log ? { incrs: k_byte_increments } : {}),
            ...(drawing.log
              ? {
                  splits: (_, __, from, to) =>
                    log_ticks(value_at(from), value_at(to)).map(Math.log10),
                }
              : {}),
            values: (_, splits) =>
              splits.map((at) =>
                at === null ? "" : show_tick(drawing.log ? value_at(at) : at * this.scale, unit),
              ),
          },
        ],
        series: [{}, { paths: () => null, points: { show: false } }],
        hooks: {
          drawAxes: [(u) => this.draw(u)],
          setSelect: [(u) => this.selected(u)],
          setCursor: [
            (u) => {
              if (this.by_hand) return;
              const left = u.cursor.left ?? -1;
              this.events.point(left < 0 ? null : u.posToVal(left, "x"));
            },
          ],
        },
      },
      this.frame(),
      host,
    );
  }

  update(drawing: Drawing): void {
    this.drawing = drawing;
    this.colours = colours_of(this.host);
    this.plot.setData(this.frame(), true);
  }

  resize(): void {
    const size = this.size();
    if (size.width !== this.plot.width || size.height !== this.plot.height) this.plot.setSize(size);
  }

  /** Shows the cursor of another chart, or of the keyboard, here. */
  point(step: number | null): void {
    this.by_hand = true;
    const left = step === null ? -10 : this.plot.valToPos(step, "x");
    this.plot.setCursor({ left, top: step === null ? -10 : 10 }, false);
    this.by_hand = false;
  }

  position(step: number): number {
    return this.plot.valToPos(step, "x") + k_axis_width;
  }

  destroy(): void {
    this.plot.destroy();
  }

  private size(): { width: number; height: number } {
    return {
      width: Math.max(180, this.host.clientWidth),
      height: Math.max(120, this.host.clientHeight),
    };
  }

  private frame(): uPlot.AlignedData {
    return [
      [this.drawing.from, this.drawing.to],
      [null, null],
    ];
  }

  private y_range(): [number, number] {
    let least = Number.POSITIVE_INFINITY;
    let most = Number.NEGATIVE_INFINITY;
    for (const { curve } of this.drawing.lines) {
      const extent = curve.extent(this.drawing.from, this.drawing.to);
      least = Math.min(least, this.drawing.log ? extent.least_positive : extent.least);
      most = Math.max(most, extent.most);
    }
    if (!Number.isFinite(least) || !Number.isFinite(most)) return [0, 1];
    if (this.drawing.log) {
      const [low, high] = [Math.log10(least), Math.log10(most)];
      const pad = Math.max(Math.log10(1.05), (high - low) * 0.06);
      return [low - pad, high + pad];
    }
    const size = Math.max(Math.abs(least), Math.abs(most));
    this.scale = size >= k_most_of_axis ? 10 ** Math.floor(Math.log10(size)) : 1;
    [least, most] = [least / this.scale, most / this.scale];
    const room = (most - least) * 0.06 || Math.abs(most) * 0.05 || 1;
    return [least - room, most + room];
  }

  private selected(u: uPlot): void {
    if (u.select.width < 4) return;
    const from = u.posToVal(u.select.left, "x");
    const to = u.posToVal(u.select.left + u.select.width, "x");
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.events.zoom(from, to);
  }

  private draw(u: uPlot): void {
    const { ctx } = u;
    const { left, top, width, height } = u.bbox;
    ctx.save();
    ctx.beginPath();
    ctx.rect(left, top, width, height);
    ctx.clip();
    this.draw_ranges(u);
    // The other run lies beneath: lines are drawn in their order, the run itself last.
    for (const line of this.drawing.lines) this.draw_line(u, line);
    this.draw_marks(u);
    ctx.restore();
  }

  private draw_ranges(u: uPlot): void {
    const { ctx } = u;
    for (const [severity, tint] of [
      ["warning", this.colours.warn_tint],
      ["error", this.colours.bad_tint],
    ]) {
      ctx.fillStyle = tint as string;
      for (const [from, to] of ranges_of(this.drawing.marks, severity as string)) {
        const left = u.valToPos(from, "x", true);
        const right = u.valToPos(to, "x", true);
        ctx.fillRect(left, u.bbox.top, Math.max(2 * devicePixelRatio, right - left), u.bbox.height);
      }
    }
  }

  private draw_line(u: uPlot, line: Line): void {
    const { ctx } = u;
    const { curve } = line;
    const { from, to, log } = this.drawing;
    const x_of = (step: number) => u.valToPos(step, "x", true);
    const y_of = (value: number) =>
      u.valToPos(log ? Math.log10(value) : value / this.scale, "y", true);
    const ratio = devicePixelRatio;
    const begin = Math.max(0, curve.at_or_before(from));
    ctx.beginPath();
    let pen = false;
    let before = Number.NaN;
    let drawn = 0;
    const bad: number[] = [];
    for (let i = begin; i < curve.size; ++i) {
      const step = curve.steps[i] as number;
      const low = curve.min[i] as number;
      const high = curve.max[i] as number;
      if (curve.bad[i]) bad.push(step);
      if (Number.isNaN(low) || (log && high <= 0)) {
        pen = false;
        if (step > to) break;
        continue;
      }
      const x = x_of(step);
      // The end that is nearer to where the line comes from first: no stroke is drawn twice.
      const first = Math.abs(low - before) <= Math.abs(high - before) ? low : high;
      const second = first === low ? high : low;
      const clip = (value: number) =>
        log && value <= 0 ? u.bbox.top + u.bbox.height : y_of(value);
      if (pen) ctx.lineTo(x, clip(first));
      else ctx.moveTo(x, clip(first));
      if (second !== first) ctx.lineTo(x, clip(second));
      pen = true;
      before = second;
      drawn += 1;
      if (step > to) break;
    }
    ctx.strokeStyle = line.colour;
    ctx.lineWidth = line.width * ratio;
    ctx.lineJoin = "round";
    ctx.setLineDash((line.dash ?? []).map((each) => each * ratio));
    ctx.stroke();
    ctx.setLineDash([]);
    if (drawn > 0 && drawn * 14 * ratio < u.bbox.width) {
      ctx.fillStyle = line.colour;
      for (let i = begin; i < curve.size; ++i) {
        const low = curve.min[i] as number;
        if (Number.isNaN(low) || (log && low <= 0)) continue;
        ctx.beginPath();
        ctx.arc(
          x_of(curve.steps[i] as number),
          y_of(low),
          (line.width + 0.8) * ratio,
          0,
          2 * Math.PI,
        );
        ctx.fill();
      }
    }
    // NaN and Inf stand on the upper edge, where a value that is too large would leave.
    ctx.fillStyle = this.colours.bad;
    for (const step of bad) {
      ctx.fillRect(x_of(step) - ratio, u.bbox.top, 2 * ratio, 9 * ratio);
    }
  }

  private draw_marks(u: uPlot): void {
    const { ctx } = u;
    const ratio = devicePixelRatio;
    const bottom = u.bbox.top + u.bbox.height;
    const upright = (step: number, colour: string, dash: number[]) => {
      const x = Math.round(u.valToPos(step, "x", true)) + 0.5;
      ctx.beginPath();
      ctx.moveTo(x, u.bbox.top);
      ctx.lineTo(x, bottom);
      ctx.strokeStyle = colour;
      ctx.lineWidth = ratio;
      ctx.setLineDash(dash.map((each) => each * ratio));
      ctx.stroke();
      ctx.setLineDash([]);
      return x;
    };
    for (const mark of this.drawing.marks) {
      if (mark.from > this.drawing.to || Math.max(mark.to, mark.from) < this.drawing.from) continue;
      if (mark.kind === "restart") upright(mark.from, this.colours.ink, [5, 4]);
      if (mark.kind === "stage") upright(mark.from, this.colours.soft, [1, 3]);
      if (mark.kind === "guard") {
        const x = upright(mark.from, this.colours.warn, [3, 2]);
        triangle(ctx, x, u.bbox.top, 5 * ratio, this.colours.warn);
      }
      if (mark.kind === "checkpoint") {
        triangle(ctx, u.valToPos(mark.from, "x", true), bottom, -4 * ratio, this.colours.good);
      }
    }
    if (this.drawing.part_at !== null) upright(this.drawing.part_at, this.colours.part, []);
  }
}

/** The ranges of symptoms of a severity, where they overlap as one: a tint upon a tint would look like a third kind. */
export const ranges_of = (marks: Mark[], severity: string): [number, number][] => {
  const out: [number, number][] = [];
  const wanted = marks.filter((mark) => mark.kind === "symptom" && mark.severity === severity);
  for (const mark of [...wanted].sort((a, b) => a.from - b.from)) {
    // A step is as wide as one: ranges of neighbours touch.
    const [from, to] = [mark.from - 0.5, Math.max(mark.from, mark.to) + 0.5];
    const before = out[out.length - 1];
    if (before && from <= before[1]) before[1] = Math.max(before[1], to);
    else out.push([from, to]);
  }
  return out;
};

const triangle = (
  ctx: CanvasRenderingContext2D,
  x: number,
  y: number,
  size: number,
  colour: string,
): void => {
  ctx.beginPath();
  ctx.moveTo(x - Math.abs(size), y);
  ctx.lineTo(x + Math.abs(size), y);
  ctx.lineTo(x, y + size * 1.5);
  ctx.closePath();
  ctx.fillStyle = colour;
  ctx.fill();
};

/** Steps are whole: no tick stands between two. */
const k_step_increments = Array.from({ length: 13 }, (_, power) =>
  [1, 2, 5].map((each) => each * 10 ** power),
).flat();

/** Sizes in memory are counted in powers of two. */
const k_byte_increments = Array.from({ length: 44 }, (_, power) => 2 ** power);

const show_step = (step: number): string => {
  if (Math.abs(step) >= 1e6) return `${Number((step / 1e6).toPrecision(6))}M`;
  if (Math.abs(step) >= 1e4) return `${Number((step / 1e3).toPrecision(6))}k`;
  return String(step);
};
