import { useMemo } from "preact/hooks";
import { use_page, use_state } from "../context";
import { unit_of } from "../panels";
import { parting_of } from "../parting";
import type { Drawn } from "../store";
import { group, show_number, visible } from "../text";
import { standing_of } from "../verdict";

export interface Parted {
  step: number | null;
  text: string;
}

/** Where two runs part, by the first outcome that both have. */
export const use_parting = (
  drawn: Drawn | null,
  compared: Drawn | null,
  ticks: number,
): Parted | null =>
  useMemo(() => {
    if (!drawn || !compared) return null;
    for (const role of ["loss", "reward", "eval_loss", "grad_norm"]) {
      const mine = drawn.detail.series.find((each) => each.role === role);
      const theirs = compared.detail.series.find((each) => each.role === role);
      const a = mine && drawn.curves.get(mine.name);
      const b = theirs && compared.curves.get(theirs.name);
      if (!a || !b || !mine) continue;
      const name = visible(mine.name);
      const broken = first_broken(drawn, compared, mine.name, theirs.name);
      const parting = parting_of(a, b);
      const at = Math.min(
        parting?.step ?? Number.POSITIVE_INFINITY,
        broken ?? Number.POSITIVE_INFINITY,
      );
      if (!Number.isFinite(at))
        return { step: null, text: `${name}: no place where they part by more than their noise.` };
      if (broken === at)
        return { step: at, text: `${name}: one of them is not finite from step ${group(at)} on.` };
      const within =
        parting && parting.within > 1 ? ` (to within ${group(parting.within)} steps)` : "";
      return { step: at, text: `${name}: they part at step ${group(at)}${within}.` };
    }
    return { step: null, text: "They have no metric in common." };
  }, [drawn, compared, Math.floor(ticks / 8)]);

/** The first step at which one is finite and the other, which has a value there, is not. */
const first_broken = (
  drawn: Drawn,
  compared: Drawn,
  mine: string,
  theirs: string,
): number | null => {
  const a = drawn.curves.get(mine);
  const b = compared.curves.get(theirs);
  if (!a || !b) return null;
  const last = Math.min(a.last_step, b.last_step);
  const first_bad = [a, b].map((curve) => curve.bad.indexOf(true));
  const steps = [a, b].map((curve, i) =>
    (first_bad[i] ?? -1) < 0 ? null : (curve.steps[first_bad[i] as number] as number),
  );
  const [one, two] = steps;
  if (one === two) return null;
  const at = Math.min(one ?? Number.POSITIVE_INFINITY, two ?? Number.POSITIVE_INFINITY);
  return Number.isFinite(at) && at <= last ? at : null;
};

export const Compare = ({ parted }: { parted: Parted | null }) => {
  const { live } = use_page();
  const { runs, selected, drawn, compared } = use_state();
  if (!live || !drawn || runs.length < 2) return null;
  const others = runs.filter((run) => run.id !== selected);
  return (
    <section class="compare" aria-labelledby="compare">
      <h2 id="compare">Compare</h2>
      <div class="tools left">
        <label for="other">Draw beneath</label>
        <select
          id="other"
          value={compared?.detail.id ?? ""}
          onChange={(event) => void live.compare(event.currentTarget.value || null)}
        >
          <option value="">no other run</option>
          {others.map((run) => (
            <option key={run.id} value={run.id}>
              {visible(run.name)}
            </option>
          ))}
        </select>
      </div>
      {compared && (
        <div role="status">
          <p>{parted?.text}</p>
          <Sides one={drawn} other={compared} />
        </div>
      )}
    </section>
  );
};

const Sides = ({ one, other }: { one: Drawn; other: Drawn }) => {
  const shared = one.detail.series.filter(
    (series) => one.curves.has(series.name) && other.curves.has(series.name),
  );
  return (
    <table class="sides">
      <thead>
        <tr>
          <td />
          {[one, other].map((each) => (
            <th scope="col" class="number" key={each.detail.id}>
              {visible(each.detail.name)}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        <tr>
          <th scope="row">verdict</th>
          {[one, other].map((each) => (
            <td class="number" key={each.detail.id}>
              {standing_of(each.detail)[0]}
            </td>
          ))}
        </tr>
        <tr>
          <th scope="row">step</th>
          {[one, other].map((each) => (
            <td class="number" key={each.detail.id}>
              {each.detail.step === null ? "" : group(each.detail.step)}
            </td>
          ))}
        </tr>
        {shared.map((series) => (
          <tr key={series.name}>
            <th scope="row">{visible(series.name)}, last</th>
            {[one, other].map((each) => (
              <td class="number" key={each.detail.id}>
                {show_number(each.curves.get(series.name)?.last ?? Number.NaN, unit_of(series))}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
};
