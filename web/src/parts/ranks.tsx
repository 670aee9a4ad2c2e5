import { useState } from "preact/hooks";
import { use_now, use_page } from "../context";
import type { Rank } from "../contract";
import { group, show_duration } from "../text";

const k_shown = 8;

/** Who lags: the ranks that are furthest behind first. */
export const Ranks = ({ ranks }: { ranks: Rank[] }) => {
  const { live } = use_page();
  const now = use_now();
  const [all, set_all] = useState(false);
  if (ranks.length < 2) return null;
  const sorted = [...ranks].sort((a, b) => b.behind - a.behind || a.rank - b.rank);
  const lagging = sorted.filter((each) => each.behind > 0);
  const furthest = sorted[0]?.behind ?? 0;
  const shown = all ? sorted : lagging.slice(0, k_shown);
  return (
    <section aria-labelledby="ranks">
      <h2 id="ranks">Ranks</h2>
      <p class="soft">
        {lagging.length === 0
          ? `All ${ranks.length} are at the same step.`
          : `${lagging.length} of ${ranks.length} lag, rank ${sorted[0]?.rank} by ${group(furthest)} ${furthest === 1 ? "step" : "steps"}.`}
      </p>
      {shown.length > 0 && (
        <div class="scroll" role="region" aria-label="Ranks, the last first" tabIndex={0}>
          <table>
            <thead>
              <tr>
                <th scope="col">Rank</th>
                <th scope="col" class="number">
                  Step
                </th>
                <th scope="col" class="number">
                  Behind
                </th>
                <th scope="col" class="wide">
                  <span class="offstage">How far behind</span>
                </th>
                <th scope="col" class="number">
                  Last heard
                </th>
              </tr>
            </thead>
            <tbody>
              {shown.map((each) => (
                <tr key={each.rank} class={each.behind > 0 ? "lags" : ""}>
                  <td>{each.rank}</td>
                  <td class="number">{each.step === null ? "none" : group(each.step)}</td>
                  <td class="number">{each.behind > 0 ? group(each.behind) : "–"}</td>
                  <td class="wide">
                    <meter
                      min={0}
                      max={Math.max(1, furthest)}
                      value={each.behind}
                      aria-label={`rank ${each.rank} is ${each.behind} ${each.behind === 1 ? "step" : "steps"} behind`}
                    />
                  </td>
                  <td class="number">
                    {each.last_at === null
                      ? "–"
                      : live
                        ? `${show_duration(now - each.last_at)} ago`
                        : "–"}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {sorted.length > lagging.slice(0, k_shown).length && (
        <button type="button" onClick={() => set_all(!all)}>
          {all ? "Show only who lags" : `Show all ${sorted.length}`}
        </button>
      )}
    </section>
  );
};
