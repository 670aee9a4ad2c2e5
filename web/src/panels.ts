import type { RunDetail, SeriesInfo } from "./contract";

/** Which series stand in which chart, and which charts are seen without asking. */
export interface Panel {
  id: string;
  title: string;
  series: SeriesInfo[];
  main: boolean;
}

const k_most_lines = 4;

const k_main: { id: string; title: string; roles: string[]; one_of?: boolean }[] = [
  { id: "loss", title: "Loss", roles: ["loss", "eval_loss"] },
  { id: "grad_norm", title: "Gradient norm", roles: ["grad_norm"] },
  { id: "lr", title: "Learning rate", roles: ["lr"] },
  { id: "reward", title: "Reward", roles: ["reward"] },
  {
    id: "throughput",
    title: "Throughput",
    roles: ["tokens_per_s", "samples_per_s", "step_time_s"],
    one_of: true,
  },
  { id: "memory", title: "Memory", roles: ["memory_bytes", "host_memory_bytes"] },
];

export const panels_of = (detail: Pick<RunDetail, "series" | "report">): Panel[] => {
  const taken = new Set<string>();
  const panels: Panel[] = [];
  const drawable = detail.series.filter((series) => series.count > 0);
  for (const { id, title, roles, one_of } of k_main) {
    let series = roles.flatMap((role) => drawable.filter((each) => each.role === role));
    if (one_of) series = series.filter((each) => each.role === series[0]?.role);
    series = series.slice(0, k_most_lines);
    if (series.length === 0) continue;
    for (const each of series) taken.add(each.name);
    const seconds = id === "throughput" && series[0]?.role === "step_time_s";
    panels.push({ id, title: seconds ? "Time per step" : title, series, main: true });
  }
  // A series that a symptom speaks of is looked at, whatever it is.
  const spoken_of = new Set(
    (detail.report?.symptoms ?? [])
      .filter((each) => each.severity !== "note")
      .map((each) => each.series),
  );
  for (const series of drawable) {
    if (taken.has(series.name)) continue;
    panels.push({
      id: `series ${series.name}`,
      title: series.name,
      series: [series],
      main: spoken_of.has(series.name),
    });
  }
  return panels.sort((a, b) => Number(b.main) - Number(a.main));
};

export const unit_of = (series: SeriesInfo): string => {
  if (series.role === "memory_bytes" || series.role === "host_memory_bytes") return "bytes";
  return series.unit ?? "";
};
