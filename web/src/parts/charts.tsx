import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Chart, type Line } from "../chart";
import { use_page, use_state } from "../context";
import type { Mark, RunDetail } from "../contract";
import type { Curve } from "../curve";
import { type Panel, panels_of, unit_of } from "../panels";
import type { Drawn, Range } from "../store";
import { group, show_number, shown_line, visible } from "../text";
import { Fold } from "./pieces";

/** The charts of a run: one range of steps for all of them, one cursor, and the other run beneath where one is compared. */
export const Charts = ({ drawn, part_at }: { drawn: Drawn; part_at: number | null }) => {
  const { store, live } = use_page();
  const { compared, range, ticks } = use_state();
  const panels = useMemo(() => panels_of(drawn.detail), [drawn.detail.series, drawn.detail.report]);
  const main = panels.filter((panel) => panel.main);
  const more = panels.filter((panel) => !panel.main);
  const whole = whole_of(drawn, main);
  const [from, to] = shown_range(range, whole);
  const [pointed, point] = useState<number | null>(null);
  const zoom = (a: number, b: number) => store.set({ range: zoomed(a, b, whole) });
  const reset = () => store.set({ range: { kind: "all" } });

  // Finer buckets of what is zoomed into, once it stands still for a moment.
  const zoomed_in = range.kind !== "all";
  useEffect(() => {
    if (!live || !zoomed_in) return;
    const timer = setTimeout(
      () => void live.refine(from, range.kind === "last" ? Number.POSITIVE_INFINITY : to),
      30,
    );
    return () => clearTimeout(timer);
  }, [live, zoomed_in, range, drawn.detail.id, compared?.detail.id]);

  if (main.length === 0 && more.length === 0) {
    return (
      <section aria-labelledby="charts">
        <h2 id="charts">Charts</h2>
        <p class="soft">No metric was read yet.</p>
      </section>
    );
  }
  const shared = { drawn, compared, from, to, whole, pointed, point, zoom, reset, part_at, ticks };
  return (
    <section aria-labelledby="charts">
      <div class="heading">
        <h2 id="charts">Charts</h2>
        <RangeTools whole={whole} from={from} to={to} range={range} />
      </div>
      <Legend drawn={drawn} compared={compared} part_at={part_at} />
      <div class="charts">
        {main.map((panel) => (
          <Figure key={panel.id} panel={panel} {...shared} />
        ))}
      </div>
      <Marks marks={drawn.detail.marks} />
      {more.length > 0 && <More panels={more} shared={shared} />}
    </section>
  );
};

interface Shared {
  drawn: Drawn;
  compared: Drawn | null;
  from: number;
  to: number;
  whole: [number, number];
  pointed: number | null;
  point: (step: number | null) => void;
  zoom: (from: number, to: number) => void;
  reset: () => void;
  part_at: number | null;
  ticks: number;
}

/** Charts that are drawn at a time: a run may log hundreds of series. */
const k_more_at_once = 12;

const More = ({ panels, shared }: { panels: Panel[]; shared: Shared }) => {
  const { live } = use_page();
  const [open, set_open] = useState(false);
  const [count, set_count] = useState(k_more_at_once);
  const shown = panels.slice(0, count);
  useEffect(() => {
    if (!open || !live) return;
    for (const panel of shown) for (const series of panel.series) void live.want(series.name);
  }, [open, live, panels, count]);
  return (
    <Fold title={`More series (${panels.length})`} on_open={() => set_open(true)}>
      {open && (
        <div class="charts">
          {shown.map((panel) => (
            <Figure key={panel.id} panel={panel} {...shared} />
          ))}
        </div>
      )}
      {panels.length > count && (
        <button type="button" class="after" onClick={() => set_count(count + k_more_at_once)}>
          Show {Math.min(k_more_at_once, panels.length - count)} more
        </button>
      )}
    </Fold>
  );
};

const whole_of = (drawn: Drawn, panels: Panel[]): [number, number] => {
  let first = Number.POSITIVE_INFINITY;
  let last = Number.NEGATIVE_INFINITY;
  for (const series of panels.flatMap((panel) => panel.series)) {
    const curve = drawn.curves.get(series.name);
    if (!curve || curve.size === 0) continue;
    first = Math.min(first, curve.first_step);
    last = Math.max(last, curve.last_step);
  }
  if (!Number.isFinite(first)) return [0, 1];
  return first === last ? [first - 1, last + 1] : [first, last];
};

const shown_range = (range: Range, [first, last]: [number, number]): [number, number] => {
  if (range.kind === "all") return [first, last];
  if (range.kind === "last") return [Math.max(first, last - range.steps), last];
  return [range.from, range.to];
};

/** A range of at least two steps within the run; the whole run is no zoom. */
const zoomed = (a: number, b: number, [first, last]: [number, number]): Range => {
  const middle = (a + b) / 2;
  const half = Math.max(1, (b - a) / 2);
  const from = Math.max(first, Math.min(middle - half, last - 2));
  const to = Math.min(last, Math.max(middle + half, first + 2));
  return from <= first && to >= last ? { kind: "all" } : { kind: "between", from, to };
};

const RangeTools = ({
  whole,
  from,
  to,
  range,
}: {
  whole: [number, number];
  from: number;
  to: number;
  range: Range;
}) => {
  const { store } = use_page();
  const length = whole[1] - whole[0];
  const set = (next: Range) => store.set({ range: next });
  const lasts = [1000, 100].filter((steps) => length > steps * 1.5);
  return (
    <div class="tools" role="group" aria-label="Steps that the charts show">
      <span class="soft small" aria-live="polite">
        {range.kind === "all"
          ? "all steps"
          : `steps ${group(Math.floor(from))}–${group(Math.ceil(to))}`}
      </span>
      <button
        type="button"
        aria-pressed={range.kind === "all"}
        onClick={() => set({ kind: "all" })}
      >
        All
      </button>
      {lasts.map((steps) => (
        <button
          type="button"
          key={steps}
          aria-pressed={range.kind === "last" && range.steps === steps}
          onClick={() => set({ kind: "last", steps })}
        >
          Last {group(steps)}
        </button>
      ))}
      <button
        type="button"
        aria-label="Zoom in"
        onClick={() => set(zoomed(from + (to - from) / 4, to - (to - from) / 4, whole))}
      >
        +
      </button>
      <button
        type="button"
        aria-label="Zoom out"
        disabled={range.kind === "all"}
        onClick={() => set(zoomed(from - (to - from) / 2, to + (to - from) / 2, whole))}
      >
        −
      </button>
    </div>
  );
};

const Legend = ({
  drawn,
  compared,
  part_at,
}: {
  drawn: Drawn;
  compared: Drawn | null;
  part_at: number | null;
}) => {
  const has = (kind: string, severity?: string) =>
    drawn.detail.marks.some(
      (mark) => mark.kind === kind && (!severity || mark.severity === severity),
    );
  const bad = [...drawn.curves.values()].some((curve) => curve.bad.includes(true));
  const items: [string, string][] = [];
  if (bad) items.push(["nan", "NaN or Inf"]);
  if (has("symptom", "error")) items.push(["range-bad", "failure"]);
  if (has("symptom", "warning")) items.push(["range-warn", "warning"]);
  if (has("guard")) items.push(["guard", "act of the guard"]);
  if (has("checkpoint")) items.push(["checkpoint", "checkpoint"]);
  if (has("restart")) items.push(["restart", "restart"]);
  if (has("stage")) items.push(["stage", "stage"]);
  if (compared) items.push(["other", visible(compared.detail.name)]);
  if (part_at !== null) items.push(["part", "where they part"]);
  return items.length === 0 ? null : (
    <ul class="legend" aria-label="What the marks mean">
      {items.map(([kind, name]) => (
        <li key={kind}>
          <i class={kind} aria-hidden="true" />
          {name}
        </li>
      ))}
    </ul>
  );
};

const k_colours = ["--line-0", "--line-1", "--line-2", "--line-3"];

/** Every finite value is positive and they span two decades: then a line of decades says more (src/report/axis.cpp). */
const spans_decades = (curves: Curve[]): boolean => {
  let least = Number.POSITIVE_INFINITY;
  let most = 0;
  for (const curve of curves) {
    const extent = curve.extent(Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY);
    if (extent.least <= 0) return false;
    least = Math.min(least, extent.least);
    most = Math.max(most, extent.most);
  }
  return most / least > 100;
};

const Figure = ({
  panel,
  drawn,
  compared,
  from,
  to,
  whole,
  pointed,
  point,
  zoom,
  reset,
  part_at,
  ticks,
}: { panel: Panel } & Shared) => {
  const host = useRef<HTMLDivElement>(null);
  const chart = useRef<Chart | null>(null);
  const [theme, set_theme] = useState(0);
  const unit = panel.series[0] ? unit_of(panel.series[0]) : "";
  const pick = (of: Drawn, name: string): Curve | undefined => {
    const fine = of.fine.get(name);
    const within = fine && fine.from <= from && fine.to >= to && to - from < whole[1] - whole[0];
    return within && fine ? fine.curve : of.curves.get(name);
  };
  const curves = panel.series.flatMap((series) => pick(drawn, series.name) ?? []);
  const [scale, set_scale] = useState<"linear" | "log" | null>(null);
  const can_log = curves.some((curve) => curve.extent(from, to).most > 0);
  const log =
    can_log && (scale ?? (panel.id !== "lr" && spans_decades(curves) ? "log" : "linear")) === "log";

  const marks = drawn.detail.marks.filter(
    (mark) =>
      mark.kind !== "symptom" ||
      mark.series === null ||
      panel.series.some((each) => each.name === mark.series),
  );
  const drawing = () => {
    const style = getComputedStyle(host.current as Element);
    const lines: Line[] = [];
    if (compared) {
      const colour = style.getPropertyValue("--other").trim();
      for (const series of panel.series) {
        const twin =
          compared.detail.series.find((each) => each.name === series.name) ??
          compared.detail.series.find((each) => each.role === series.role && each.role !== "other");
        const curve = twin && pick(compared, twin.name);
        if (curve) lines.push({ curve, colour, width: 1.4, dash: [4, 3] });
      }
    }
    panel.series.forEach((series, at) => {
      const curve = pick(drawn, series.name);
      if (curve)
        lines.push({
          curve,
          colour: style.getPropertyValue(k_colours[at] ?? "--line-0").trim(),
          width: 1.5,
        });
    });
    return { lines, marks, from, to, log, part_at };
  };

  // The zoom and the reset of the moment: the chart itself lives longer than one drawing.
  const acts = useRef({ zoom, reset, point });
  acts.current = { zoom, reset, point };
  useEffect(() => {
    if (!host.current) return;
    const made = new Chart(host.current, drawing(), unit, {
      zoom: (a, b) => acts.current.zoom(a, b),
      reset: () => acts.current.reset(),
      point: (step) => acts.current.point(step),
    });
    chart.current = made;
    const watch = new ResizeObserver(() => made.resize());
    watch.observe(host.current);
    return () => {
      watch.disconnect();
      made.destroy();
      chart.current = null;
    };
  }, [log, panel.id]);
  useEffect(
    () => chart.current?.update(drawing()),
    [ticks, from, to, drawn, compared, part_at, theme, panel],
  );
  useEffect(() => chart.current?.point(pointed), [pointed, from, to, log]);
  useEffect(() => {
    const changed = () => set_theme((n) => n + 1);
    document.addEventListener("aplomb-theme", changed);
    return () => document.removeEventListener("aplomb-theme", changed);
  }, []);

  const reading =
    pointed === null || pointed < from || pointed > to
      ? null
      : reading_at(panel, curves, marks, pointed, to - from);
  const key = (event: KeyboardEvent) => {
    const lead = curves[0];
    if (!lead || event.ctrlKey || event.metaKey || event.altKey) return;
    const here = pointed ?? to;
    const index = lead.nearest(here);
    const step = (at: number) => lead.steps[Math.max(0, Math.min(lead.size - 1, at))] as number;
    const jump = Math.max(1, Math.round(lead.size / 20));
    const width = to - from;
    const acts_of: Record<string, () => void> = {
      ArrowLeft: () => point(step(index - 1)),
      ArrowRight: () => point(step(index + 1)),
      ArrowDown: () => point(step(index - 1)),
      ArrowUp: () => point(step(index + 1)),
      PageDown: () => point(step(index - jump)),
      PageUp: () => point(step(index + jump)),
      Home: () => point(step(lead.nearest(from))),
      End: () => point(step(lead.nearest(to))),
      "+": () => zoom(here - width / 4, here + width / 4),
      "=": () => zoom(here - width / 4, here + width / 4),
      "-": () => zoom(here - width, here + width),
      "0": reset,
      Escape: () => (pointed === null ? reset() : point(null)),
    };
    const act = acts_of[event.key];
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  };
  const summary = summary_of(panel, curves, marks);
  return (
    <figure class="chart" data-chart={panel.id}>
      <figcaption>
        <b>{visible(panel.title)}</b>
        {panel.series.map((series, at) => {
          const curve = curves[at];
          return (
            <span class={`key l${at}`} key={series.name}>
              {panel.series.length > 1 || panel.title !== series.name
                ? `${visible(series.name)} `
                : ""}
              <span class="value">
                {curve && curve.size > 0 ? show_number(curve.last, unit) : "…"}
              </span>
            </span>
          );
        })}
        {can_log && (
          <button
            type="button"
            class="scale"
            aria-pressed={log}
            aria-label={`log scale of ${visible(panel.title)}`}
            onClick={() => set_scale(log ? "linear" : "log")}
          >
            log
          </button>
        )}
      </figcaption>
      <div
        class="area"
        role="slider"
        tabIndex={0}
        aria-label={`${panel.title} over steps. ${summary}`}
        aria-orientation="horizontal"
        aria-valuemin={Math.floor(from)}
        aria-valuemax={Math.ceil(to)}
        aria-valuenow={Math.round(Math.max(from, Math.min(to, pointed ?? to)))}
        aria-valuetext={reading ? reading.join(", ") : summary}
        onKeyDown={key}
        onBlur={() => point(null)}
      >
        <div class="host" ref={host} />
        {reading && chart.current && (
          <Tip
            lines={reading}
            left={chart.current.position(pointed as number)}
            host={host.current}
          />
        )}
      </div>
      <Table panel={panel} curves={curves} from={from} to={to} unit={unit} summary={summary} />
    </figure>
  );
};

const Tip = ({
  lines,
  left,
  host,
}: {
  lines: string[];
  left: number;
  host: HTMLElement | null;
}) => {
  const tip = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const at = tip.current;
    if (!at || !host) return;
    const right = left > host.clientWidth * 0.6;
    at.style.left = right ? "auto" : `${left + 10}px`;
    at.style.right = right ? `${host.clientWidth - left + 10}px` : "auto";
  }, [left, host, lines]);
  return (
    <div class="tip" ref={tip} aria-hidden="true">
      {lines.map((line, at) => (
        <div key={at}>{line}</div>
      ))}
    </div>
  );
};

const bucket_text = (curve: Curve, at: number, unit: string): string => {
  const low = curve.min[at] as number;
  const high = curve.max[at] as number;
  const bad = curve.bad[at] ? "NaN or Inf" : "";
  if (Number.isNaN(low)) return bad || "NaN";
  const text =
    low === high
      ? show_number(low, unit)
      : `${show_number(low, unit)} to ${show_number(high, unit)}`;
  return bad ? `${text} and ${bad}` : text;
};

const k_most_named = 3;

/** What stands at a step: the values, then what is marked there (within a hundredth of what is shown). */
const reading_at = (
  panel: Panel,
  curves: Curve[],
  marks: Mark[],
  step: number,
  span: number,
): string[] => {
  const lead = curves[0];
  const at = lead ? lead.nearest(step) : -1;
  if (!lead || at < 0) return [];
  const here = lead.steps[at] as number;
  const values = curves.map((curve, i) => {
    const series = panel.series[i];
    const near = curve.nearest(here);
    const name = panel.series.length > 1 && series ? `${visible(series.name)} ` : "";
    return near < 0 ? "" : `${name}${bucket_text(curve, near, series ? unit_of(series) : "")}`;
  });
  const near = span / 100;
  const named = marks
    .filter((mark) =>
      mark.kind === "symptom"
        ? mark.severity !== "info" && mark.from <= step && step <= mark.to
        : Math.abs(mark.from - step) <= near,
    )
    .slice(0, k_most_named)
    .map((mark) => shown_line(mark.label, 80));
  return [`step ${group(here)}`, ...values.filter((each) => each !== ""), ...named];
};

/** A chart in a sentence. */
const summary_of = (panel: Panel, curves: Curve[], marks: Mark[]): string => {
  const parts = curves.flatMap((curve, i) => {
    const series = panel.series[i];
    if (!series || curve.size === 0) return [];
    const unit = unit_of(series);
    const { least, most } = curve.extent(Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY);
    const bad = curve.bad.indexOf(true);
    const words = [
      `${visible(series.name)}: ${show_number(curve.last, unit)} at step ${group(curve.last_step)}`,
    ];
    if (Number.isFinite(least))
      words.push(`between ${show_number(least, unit)} and ${show_number(most, unit)}`);
    if (bad >= 0) words.push(`not finite from step ${group(curve.steps[bad] as number)}`);
    return [words.join(", ")];
  });
  for (const mark of marks) {
    if (mark.kind === "symptom" && mark.severity !== "info" && mark.series !== null)
      parts.push(`${mark.severity === "error" ? "failure" : "warning"}: ${visible(mark.label)}`);
  }
  return parts.length > 0 ? `${parts.join(". ")}.` : "Nothing was read yet.";
};

const k_rows = 20;

const Table = ({
  panel,
  curves,
  from,
  to,
  unit,
  summary,
}: {
  panel: Panel;
  curves: Curve[];
  from: number;
  to: number;
  unit: string;
  summary: string;
}) => {
  const [open, set_open] = useState(false);
  const lead = curves[0];
  return (
    <details class="as-table" onToggle={(event) => set_open(event.currentTarget.open)}>
      <summary>{visible(panel.title)} in words</summary>
      {open && lead && (
        <div class="inner">
          <p>{summary}</p>
          <div class="scroll" role="region" aria-label={`${panel.title} as a table`} tabIndex={0}>
            <table>
              <thead>
                <tr>
                  <th scope="col" class="number">
                    Step
                  </th>
                  {panel.series.map((series) => (
                    <th scope="col" class="number" key={series.name}>
                      {visible(series.name)}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {lead.sampled(k_rows, from, to).map((at) => (
                  <tr key={at}>
                    <td class="number">{group(lead.steps[at] as number)}</td>
                    {curves.map((curve, i) => {
                      const near = curve.nearest(lead.steps[at] as number);
                      return (
                        <td class="number" key={i}>
                          {near < 0 ? "" : bucket_text(curve, near, unit)}
                        </td>
                      );
                    })}
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </div>
      )}
    </details>
  );
};

const k_kinds: Record<string, string> = {
  symptom: "Seen",
  guard: "Guard",
  checkpoint: "Checkpoint",
  restart: "Restart",
  stage: "Stage",
};

/** What is drawn on the charts, in words. */
const Marks = ({ marks }: { marks: RunDetail["marks"] }) => {
  const shown = marks.filter((mark) => mark.kind !== "symptom" || mark.severity !== "info");
  if (shown.length === 0) return null;
  const most = 200;
  return (
    <Fold title={`What is marked on the charts (${shown.length})`}>
      <table>
        <thead>
          <tr>
            <th scope="col">Step</th>
            <th scope="col">Kind</th>
            <th scope="col">What</th>
          </tr>
        </thead>
        <tbody>
          {[...shown]
            .sort((a, b) => b.from - a.from)
            .slice(0, most)
            .map((mark, at) => (
              <tr key={at}>
                <td class="number left">
                  {group(mark.from)}
                  {mark.to > mark.from && `–${group(mark.to)}`}
                </td>
                <td>{k_kinds[mark.kind] ?? mark.kind}</td>
                <td>{visible(mark.label)}</td>
              </tr>
            ))}
        </tbody>
      </table>
      {shown.length > most && <p class="soft small">And {shown.length - most} before those.</p>}
    </Fold>
  );
};
