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
/** Ten drawings a second are enough for a run that logs faster. */
const k_gather_ms = 100;

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
  private flushed_ms = 0;
  private waiting: ReturnType<typeof setTimeout> | undefined;

  get state(): State {
    return this.state_;
  }

  /** What a user does is shown in the next frame; what streams in (`soon`) waits for more, and not for long. */
  set(change: Partial<State>, soon = false): void {
    this.state_ = { ...this.state_, ...change };
    const flush = () => {
      if (!this.queued && !this.waiting) return;
      this.queued = false;
      clearTimeout(this.waiting);
      this.waiting = undefined;
      this.flushed_ms = performance.now();
      for (const each of this.listeners) each();
    };
    if (this.queued || (soon && this.waiting)) return;
    if (soon) {
      // The first after a pause is shown at once.
      const since = performance.now() - this.flushed_ms;
      this.waiting = setTimeout(flush, Math.max(0, k_gather_ms - since));
      return;
    }
    this.queued = true;
    // A tab in the background gets no frames, and its title should still tell.
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
    this.set({ runs: newest }, true);
  }

  /** Summaries that changed, laid over those that are known. */
  merge_runs(changed: RunSummary[]): void {
    const by_id = new Map(this.state_.runs.map((run) => [run.id, run]));
    for (const run of changed) by_id.set(run.id, { ...by_id.get(run.id), ...run });
    this.set_runs([...by_id.values()]);
    for (const key of ["drawn", "compared"] as const) {
      const drawn = this.state_[key];
      const now = drawn && changed.find((run) => run.id === drawn.detail.id);
      if (drawn && now)
        this.set({ [key]: { ...drawn, detail: { ...drawn.detail, ...now } } }, true);
    }
  }

  change_detail(run: string, change: (detail: RunDetail) => RunDetail): void {
    const drawn = this.state_.drawn;
    if (drawn?.detail.id === run)
      this.set({ drawn: { ...drawn, detail: change(drawn.detail) } }, true);
  }

  set_marks(run: string, marks: Mark[]): void {
    this.change_detail(run, (detail) => ({ ...detail, marks }));
  }

  add_lines(run: string, lines: LogLine[]): void {
    this.change_detail(run, (detail) => ({ ...detail, log: with_lines(detail.log, lines) }));
  }
}

/**
 * Lines that came, laid behind those that are known. One that is known already is replaced: that it is evidence is found
 * later than it is read. Numbers count within a file; after a rotation or a restart they begin anew, and what comes goes
 * to the end all the same.
 */
export const with_lines = (known: LogLine[], lines: LogLine[]): LogLine[] => {
  const log = [...known];
  const at = new Map(log.map((line, index) => [`${line.n} ${line.text}`, index]));
  for (const line of lines) {
    const key = `${line.n} ${line.text}`;
    const index = at.get(key);
    if (index !== undefined) log[index] = line;
    else at.set(key, log.push(line) - 1);
  }
  return log.slice(-k_most_log_lines);
};

/** Runs that need eyes come first: those that stand still or go wrong now; then those that go on; then those that are over. */
const rank_of = (run: RunSummary): number => {
  if (run.state === "silent") return 0;
  if (run.state === "running")
    return run.standing === "failed" || run.standing === "unstable" ? 0 : 1;
  return run.state === "failed" ? 2 : 3;
};
