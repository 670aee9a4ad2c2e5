import type { Curve } from "./curve";

/**
 * Where two curves part: the rule of `aplomb compare` (docs/compare.md, "Where they part") on what the page has of
 * both: the middles of their buckets, the second read between its buckets. Page's two-sided cumulative sum (Biometrika
 * 41, 1954) of the difference in units of its noise, reference value 1/2, terms clipped at 4, with the threshold of
 * Siegmund's formula (1985) for a false alarm in 1 % of equal pairs. The place is exact to a bucket; `aplomb compare`
 * on the two runs says it from all samples.
 */
const k_least_pairs = 16;
const k_reference = 0.5;
const k_clip = 4;
const k_false_alarm = 0.01;
const k_trend_half = 16;
const k_spread_half = 32;
const k_mad_to_sigma = 1.4826;
const k_most_correlation = 0.9;
const k_float32 = 1.3e-6;

export interface Parting {
  step: number;
  within: number;
}

const median = (values: number[]): number => {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const high = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 ? high : (high + (sorted[middle - 1] ?? high)) / 2;
};

const window_of = (values: number[], at: number, half: number): number[] => {
  const reach = Math.min(half, at, values.length - 1 - at);
  return values.slice(at - reach, at + reach + 1);
};

const middle_of = (curve: Curve, at: number): number =>
  ((curve.min[at] as number) + (curve.max[at] as number)) / 2;

/** The value of a curve at a step, between its buckets; NaN outside of it or where a neighbour is not finite. */
const read_at = (curve: Curve, step: number): number => {
  const before = curve.at_or_before(step);
  if (before < 0) return Number.NaN;
  const left = curve.steps[before] as number;
  if (curve.bad[before]) return Number.NaN;
  if (left === step) return middle_of(curve, before);
  if (before + 1 >= curve.size || curve.bad[before + 1]) return Number.NaN;
  const right = curve.steps[before + 1] as number;
  const part = (step - left) / (right - left);
  return middle_of(curve, before) * (1 - part) + middle_of(curve, before + 1) * part;
};

const correlation_of = (residual: number[], sigma: number[]): number => {
  let product = 0;
  let square = 0;
  let before = 0;
  residual.forEach((value, i) => {
    const unit = sigma[i] as number;
    if (!(unit > 0)) return;
    const now = Math.max(-k_clip, Math.min(k_clip, value / unit));
    product += now * before;
    square += now * now;
    before = now;
  });
  return square > 0 ? Math.max(0, Math.min(k_most_correlation, product / square)) : 0;
};

export const parting_of = (a: Curve, b: Curve): Parting | null => {
  const steps: number[] = [];
  const difference: number[] = [];
  const rounding: number[] = [];
  for (let i = 0; i < a.size; ++i) {
    if (a.bad[i]) continue;
    const step = a.steps[i] as number;
    const here = middle_of(a, i);
    const there = read_at(b, step);
    if (!Number.isFinite(here) || !Number.isFinite(there)) continue;
    steps.push(step);
    difference.push(there - here);
    rounding.push(k_float32 * (Math.abs(here) + Math.abs(there)));
  }
  const size = steps.length;
  if (size < k_least_pairs) return null;
  const residual = difference.map((d, i) => d - median(window_of(difference, i, k_trend_half)));
  const away = residual.map(Math.abs);
  const spread = away.map(
    (_, i) =>
      k_mad_to_sigma * median(away.slice(Math.max(0, i - k_spread_half), i + k_spread_half + 1)),
  );
  const sigma = spread.map((own, i) =>
    Math.max(
      own,
      spread[Math.max(0, i - k_spread_half)] ?? 0,
      spread[Math.min(size - 1, i + k_spread_half)] ?? 0,
    ),
  );
  const correlation = correlation_of(residual, sigma);
  const inflation = Math.sqrt((1 + correlation) / (1 - correlation));
  const threshold = Math.log(size / k_false_alarm) - 1.166;
  const sides = [
    { sum: 0, since: 0 },
    { sum: 0, since: 0 },
  ];
  for (let i = 0; i < size; ++i) {
    const unit = Math.max((sigma[i] as number) * inflation, rounding[i] as number);
    const off = difference[i] as number;
    const term =
      unit > 0 ? Math.max(-k_clip, Math.min(k_clip, off / unit)) : Math.sign(off) * k_clip;
    for (const [index, side] of sides.entries()) {
      if (side.sum <= 0) side.since = i;
      side.sum = Math.max(0, side.sum + (index === 0 ? term : -term) - k_reference);
      if (side.sum > threshold) {
        const step = steps[side.since] as number;
        return { step, within: step - (steps[Math.max(0, side.since - 1)] ?? step) };
      }
    }
  }
  return null;
};
