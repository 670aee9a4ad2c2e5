import { k_schema, type StillRun, whole_detail } from "./contract";
import { Curve } from "./curve";
import type { Store } from "./store";

/** A report page: the run stands in the page itself, and nothing is asked of anybody. */
export const still_run = (): StillRun | null => {
  const held = document.getElementById("aplomb-data");
  if (!held?.textContent) return null;
  try {
    return whole_detail(JSON.parse(held.textContent) as StillRun);
  } catch {
    return null;
  }
};

export const show_still = (store: Store, run: StillRun): void => {
  const curves = new Map(
    run.series.map((series) => {
      const curve = Curve.from_wire(series, Number.POSITIVE_INFINITY);
      curve.ends_at(series.last_step, series.last);
      return [series.name, curve];
    }),
  );
  store.set({
    link: { kind: "still" },
    server: { version: String(run.report?.schema ?? k_schema), started: 0, can_stop: false },
    runs: [],
    selected: run.id,
    drawn: { detail: run, curves, fine: new Map() },
    ticks: 1,
  });
};
