import { number_of, type WireCurve, type WireNumber } from "./contract";

/**
 * A metric over steps in buckets: the least and the greatest finite value of each, and whether a non-finite one was
 * among them. Steps rise strictly; what comes for a step that is there already (steps done again after a restart) widens
 * its bucket. Memory is bounded: past `most` buckets neighbours are joined, and no extreme is lost.
 */
export class Curve {
  readonly steps: number[] = [];
  readonly min: number[] = [];
  readonly max: number[] = [];
  readonly bad: boolean[] = [];
  exact = true;
  last = Number.NaN;
  private end = Number.NEGATIVE_INFINITY;

  constructor(private readonly most = 4096) {}

  static from_wire(wire: WireCurve, most?: number): Curve {
    const curve = new Curve(most);
    const count = Math.min(wire.steps.length, wire.min.length, wire.max.length);
    for (let i = 0; i < count; ++i) {
      const step = Number(wire.steps[i]);
      if (Number.isFinite(step)) curve.add(step, number_of(wire.min[i]), number_of(wire.max[i]));
    }
    curve.exact = curve.exact && wire.exact !== false;
    return curve;
  }

  get size(): number {
    return this.steps.length;
  }
  get first_step(): number {
    return this.steps[0] ?? Number.NaN;
  }
  get last_step(): number {
    return this.size === 0 ? Number.NaN : Math.max(this.end, this.steps[this.size - 1] as number);
  }

  /** What the buckets cannot say: where the last of them ends, and the value there. */
  ends_at(step: number, value: WireNumber | undefined): void {
    if (Number.isFinite(step)) this.end = step;
    if (value !== undefined && value !== null) this.last = number_of(value);
  }

  append(step: number, value: WireNumber): void {
    const held = number_of(value);
    if (!Number.isFinite(step)) return;
    this.last = held;
    this.add(step, held, held);
  }

  /** The index of the last bucket at or before a step, -1 before the first. */
  at_or_before(step: number): number {
    let low = 0;
    let high = this.size;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.steps[middle] as number) <= step) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  nearest(step: number): number {
    const before = this.at_or_before(step);
    if (before < 0) return this.size > 0 ? 0 : -1;
    const after = before + 1;
    if (after >= this.size) return before;
    const near = step - (this.steps[before] as number) <= (this.steps[after] as number) - step;
    return near ? before : after;
  }

  /** Extremes of the finite values within [from, to]. */
  extent(from: number, to: number): { least: number; most: number; least_positive: number } {
    let least = Number.POSITIVE_INFINITY;
    let most = Number.NEGATIVE_INFINITY;
    let least_positive = Number.POSITIVE_INFINITY;
    for (let i = Math.max(0, this.at_or_before(from)); i < this.size; ++i) {
      if ((this.steps[i] as number) > to) break;
      const low = this.min[i] as number;
      const high = this.max[i] as number;
      if (low < least) least = low;
      if (high > most) most = high;
      if (low > 0 && low < least_positive) least_positive = low;
    }
    return { least, most, least_positive };
  }

  /** At most `count` of its buckets within [from, to], evenly spaced by step, for a table. */
  sampled(count: number, from = this.first_step, to = this.last_step): number[] {
    const out: number[] = [];
    for (let i = 0; i < count; ++i) {
      const at = this.nearest(from + ((to - from) * i) / Math.max(1, count - 1));
      if (at >= 0 && out[out.length - 1] !== at) out.push(at);
    }
    return out;
  }

  private add(step: number, a: number, b: number): void {
    const finite_a = Number.isFinite(a);
    const finite_b = Number.isFinite(b);
    const low = finite_a && finite_b ? Math.min(a, b) : finite_a ? a : b;
    const high = finite_a && finite_b ? Math.max(a, b) : finite_b ? b : a;
    const has = finite_a || finite_b;
    const bad = !(finite_a && finite_b);
    const end = this.size - 1;
    if (end < 0 || step > (this.steps[end] as number)) {
      this.steps.push(step);
      this.min.push(has ? low : Number.NaN);
      this.max.push(has ? high : Number.NaN);
      this.bad.push(bad);
      this.last = finite_b ? b : finite_a && !bad ? a : b;
      if (this.size > this.most) this.halve();
      return;
    }
    this.last = b;
    let at = this.at_or_before(step);
    const holds = at >= 0 && (this.steps[at] === step || !this.exact);
    if (!holds) {
      at += 1;
      this.steps.splice(at, 0, step);
      this.min.splice(at, 0, has ? low : Number.NaN);
      this.max.splice(at, 0, has ? high : Number.NaN);
      this.bad.splice(at, 0, bad);
      return;
    }
    this.widen(at, has ? low : Number.NaN, has ? high : Number.NaN, bad);
  }

  private widen(at: number, low: number, high: number, bad: boolean): void {
    const min = this.min[at] as number;
    const max = this.max[at] as number;
    if (!(min <= low) && !Number.isNaN(low)) this.min[at] = low;
    if (!(max >= high) && !Number.isNaN(high)) this.max[at] = high;
    this.bad[at] = this.bad[at] || bad;
  }

  private halve(): void {
    let to = 0;
    for (let from = 0; from < this.size; from += 2, ++to) {
      this.steps[to] = this.steps[from] as number;
      this.min[to] = this.min[from] as number;
      this.max[to] = this.max[from] as number;
      this.bad[to] = this.bad[from] as boolean;
      if (from + 1 < this.size)
        this.widen(
          to,
          this.min[from + 1] as number,
          this.max[from + 1] as number,
          this.bad[from + 1] as boolean,
        );
    }
    for (const column of [this.steps, this.min, this.max, this.bad]) column.length = to;
    this.exact = false;
  }
}
