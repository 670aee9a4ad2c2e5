const k_most_ticks = 8;

/**
 * Ticks of a logarithmic axis: powers of ten where there are two and more (every second, fifth, tenth of them, so that
 * there are at most eight), else 1, 2 and 5 of each decade.
 */
export const log_ticks = (from: number, to: number): number[] => {
  if (!(from > 0) || !Number.isFinite(to) || to <= from) return [];
  const least = Math.ceil(Math.log10(from) - 1e-9);
  const most = Math.floor(Math.log10(to) + 1e-9);
  if (most - least >= 1) {
    const apart =
      [1, 2, 5, 10, 20, 50, 100].find((each) => (most - least) / each < k_most_ticks) ?? 200;
    const ticks = [];
    for (let power = Math.ceil(least / apart) * apart; power <= most; power += apart)
      ticks.push(10 ** power);
    return ticks;
  }
  const ticks = [];
  for (let power = least - 1; power <= most + 1; ++power)
    for (const digit of [1, 2, 5]) {
      const tick = Number(`${digit}e${power}`);
      if (tick >= from && tick <= to) ticks.push(tick);
    }
  return ticks;
};
