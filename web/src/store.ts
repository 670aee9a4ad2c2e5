import type { LogLine, Mark, RunDetail, RunSummary, ServerInfo } from "./contract";
import type { Curve } from "./curve";

/** How things stand with the program that this page shows. */
export type Link =
  | { kind: "connecting" }
  | { kind: "live" }
  | { kind: "lost"; since: number; what: string }
  | { kind: "refused" }
  | { kind: "still" };

export type Range =
  | { kind: "all" }
  | { kind: "last"; steps: number }
  | { kind: "between"; from: number; to: number };

/** One run as it is drawn: what the server said of it, and its curves. */
export interface Drawn {
  detail: RunDetail;
  curves: Map<string, Curve>;
  /** Finer buckets of the range that is zoomed into, by series. */
  fine: Map<string, { curve: Curve; from: number; to: number }>;
}

export interface State {
  link: Link;
  server: ServerInfo | null;
  runs: RunSummary[];
  selected: string | null;
  drawn: Drawn | null;
  trouble: string | null;
  compared: Drawn | null;
  range: Range;
  /** Rises whenever points came: charts draw anew, and nothing else needs to. */
  ticks: number;
  /** Server's clock less ours, in seconds. */
  skew_s: number;
  told: string;
}

export const k_most_log_lines = 2000;

/** The one place that holds what is shown; whoever shows it subscribes, and is called once a frame at most. */
export class Store {
  private state_: State = {
    link: { kind: "connecting" },
    server: null,
    runs: [],
    selected: null,
    drawn: null,
    trouble: null,
    compared: null,
    range: { kind: "all" },
    ticks: 0,
    skew_s: 0,
    told: "",
  };
  private readonly listeners = new Set<() => void>();
  private queued = false;

  get state(): State {
    return this.state_;
  }

  set(change: Partial<State>): void {
    this.state_ = { ...this.state_, ...change };
    if (this.queued) return;
    this.queued = true;
    // A tab in the background gets no frames, and its title should still tell.
    const flush = () => {
      if (!this.queued) return;
      this.queued = false;
      for (const each of this.listeners) each();
    };
    if (document.hidden) setTimeout(flush, 50);
    else {
      requestAnimationFrame(flush);
      setTimeout(flush, 250);
    }
  }

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  set_runs(runs: RunSummary[]): void {
    const newest = [...runs].sort(
      (a, b) =>
        rank_of(a) - rank_of(b) ||
        (b.started_at ?? 0) - (a.started_at ?? 0) ||
        a.name.localeCompare(b.name),
    );
    this.set({ runs: newest });
  }

  /** Summaries that changed, laid over those that are known. */
  merge_runs(changed: RunSummary[]): void {
    const by_id = new Map(this.state_.runs.map((run) => [run.id, run]));
    for (const run of changed) by_id.set(run.id, { ...by_id.get(run.id), ...run });
    this.set_runs([...by_id.values()]);
    for (const key of ["drawn", "compared"] as const) {
      const drawn = this.state_[key];
      const now = drawn && changed.find((run) => run.id === drawn.detail.id);
      if (drawn && now) this.set({ [key]: { ...drawn, detail: { ...drawn.detail, ...now } } });
    }
  }

  change_detail(run: string, change: (detail: RunDetail) => RunDetail): void {
    const drawn = this.state_.drawn;
    if (drawn?.detail.id === run) this.set({ drawn: { ...drawn, detail: change(drawn.detail) } });
  }

  set_marks(run: string, marks: Mark[]): void {
    this.change_detail(run, (detail) => ({ ...detail, marks }));
  }

  /** Lines that came: those that are known change (their evidence is found later), new ones go to the end. */
  add_lines(run: string, lines: LogLine[]): void {
    this.change_detail(run, (detail) => {
      const by_number = new Map(detail.log.map((line) => [line.n, line]));
      for (const line of lines) by_number.set(line.n, line);
      const log = [...by_number.values()].sort((a, b) => a.n - b.n);
      return { ...detail, log: log.slice(-k_most_log_lines) };
    });
  }
}

/** Runs that need eyes come first: those that stand still or go wrong now; then those that go on; then those that are over. */
const rank_of = (run: RunSummary): number => {
  if (run.state === "silent") return 0;
  if (run.state === "running")
    return run.standing === "failed" || run.standing === "unstable" ? 0 : 1;
  return run.state === "failed" ? 2 : 3;
};
