import {
  type ApiError,
  k_schema,
  type LogLine,
  type Mark,
  type RunDetail,
  type RunList,
  type RunSummary,
  type SeriesInfo,
  type WireCurve,
  type WireNumber,
  whole_detail,
} from "./contract";
import { Curve } from "./curve";
import { panels_of } from "./panels";
import { type Drawn, type Store, with_lines } from "./store";

/**
 * The page's side of the connection: lists, details and series by GET, what changes by Server-Sent Events. A line that
 * breaks is told at once and taken up again; after a long gap, or where the server cannot say what was missed, all is
 * fetched anew.
 */

/** The server sends a comment every 10 s, which a page does not see: this long without an event, it asks. */
const k_probe_after_ms = 25_000;
const k_answer_within_ms = 8_000;
const k_wait_ms = [500, 1000, 2000, 4000, 8000];
/** Buckets of an overview: about two a pixel of the widest chart. */
const k_points = 1600;

export class Failure extends Error {
  constructor(
    readonly status: number,
    readonly error: ApiError,
  ) {
    super(error.what);
  }
}

const failure_of = async (answer: Response): Promise<Failure> => {
  const body = (await answer.json().catch(() => null)) as { error?: Partial<ApiError> } | null;
  return new Failure(answer.status, {
    what: body?.error?.what ?? `the program answered ${answer.status}`,
    why: body?.error?.why ?? "",
    do: body?.error?.do ?? "",
  });
};

export class Live {
  private events: EventSource | null = null;
  private heard_ms = Date.now();
  private attempt = 0;
  private retry: ReturnType<typeof setTimeout> | undefined;
  private fetching_detail: string | null = null;
  private detail_again = false;
  private loading = 0;
  private waiting: (() => void)[] = [];
  private fine_wanted: AbortController | null = null;

  constructor(
    private readonly store: Store,
    private readonly base = "",
  ) {}

  start(): void {
    void this.connect();
    setInterval(() => void this.probe(), 5000);
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden) void this.probe();
    });
    window.addEventListener("online", () => this.connect_soon(0));
    window.addEventListener("hashchange", () => {
      const named = run_of_address(this.store.state.runs);
      if (named && named !== this.store.state.selected) void this.choose(named);
    });
  }

  async get<T>(path: string, signal?: AbortSignal): Promise<T> {
    const timed = new AbortController();
    const timer = setTimeout(() => timed.abort(), k_answer_within_ms);
    signal?.addEventListener("abort", () => timed.abort());
    try {
      const answer = await fetch(this.base + path, {
        signal: timed.signal,
        credentials: "same-origin",
      });
      this.note_clock(answer);
      if (!answer.ok) throw await failure_of(answer);
      return (await answer.json()) as T;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Fetches all anew, then listens. */
  private async connect(): Promise<void> {
    clearTimeout(this.retry);
    this.events?.close();
    this.events = null;
    try {
      const list = await this.get<RunList>("api/runs");
      // What happens while the rest is fetched is kept and laid over it: nothing falls between the two.
      await this.listen();
      await this.refresh(list);
    } catch (error) {
      this.lost(error);
    }
  }

  private connect_soon(ms: number): void {
    if (this.store.state.link.kind === "live") return;
    clearTimeout(this.retry);
    this.retry = setTimeout(() => void this.connect(), ms);
  }

  /** The list, and the run that is looked at. */
  private async refresh(known?: RunList): Promise<void> {
    const list = known ?? (await this.get<RunList>("api/runs"));
    if (list.schema !== k_schema) {
      throw new Failure(0, {
        what: `the program speaks ${String(list.schema)}, this page ${k_schema}`,
        why: "",
        do: "Load the page again.",
      });
    }
    this.store.set({ server: list.server });
    this.store.set_runs(list.runs);
    const { selected, compared } = this.store.state;
    const wanted = selected && list.runs.some((run) => run.id === selected) ? selected : null;
    const first = wanted ?? run_of_address(list.runs) ?? this.store.state.runs[0]?.id ?? null;
    if (first) await this.show(first);
    if (compared) await this.compare(compared.detail.id);
  }

  /** Makes a run the one that is looked at. */
  async show(id: string): Promise<void> {
    const same = this.store.state.drawn?.detail.id === id;
    if (!same)
      this.store.set({
        selected: id,
        drawn: null,
        compared: null,
        range: { kind: "all" },
        trouble: null,
      });
    this.loading += 1;
    try {
      const drawn = await this.load(id, k_points);
      if (this.store.state.selected !== id) return;
      this.store.set({ drawn, trouble: null, ticks: this.store.state.ticks + 1 });
    } catch (error) {
      if (!(error instanceof Failure) || error.status === 401) throw error;
      this.store.set({ trouble: `${error.error.what}. ${error.error.do}` });
    } finally {
      this.loaded();
    }
  }

  /** What the user asks for: a broken connection is told, not thrown. */
  async choose(id: string): Promise<void> {
    history.replaceState(null, "", `#run=${encodeURIComponent(id)}`);
    await this.show(id).catch((error) => this.lost(error));
  }

  async compare(id: string | null): Promise<void> {
    if (id === null) return this.store.set({ compared: null });
    this.loading += 1;
    try {
      this.store.set({
        compared: await this.load(id, k_points),
        ticks: this.store.state.ticks + 1,
      });
    } catch (error) {
      this.store.set({ compared: null });
      if (!(error instanceof Failure)) this.lost(error);
    } finally {
      this.loaded();
    }
  }

  private loaded(): void {
    this.loading -= 1;
    if (this.loading > 0) return;
    const waiting = this.waiting;
    this.waiting = [];
    for (const each of waiting) each();
  }

  private async detail_of(id: string): Promise<RunDetail> {
    return whole_detail(await this.get<RunDetail>(`api/runs/${encodeURIComponent(id)}`));
  }

  private async load(id: string, points: number): Promise<Drawn> {
    const detail = await this.detail_of(id);
    const drawn: Drawn = { detail, curves: new Map(), fine: new Map() };
    await Promise.all(
      panels_of(detail)
        .filter((panel) => panel.main)
        .flatMap((panel) => panel.series)
        .map(async (series) => {
          drawn.curves.set(series.name, await this.curve_of(id, series, points));
        }),
    );
    return drawn;
  }

  private async curve_of(
    id: string,
    { name, last_step, last }: SeriesInfo,
    points: number,
    range?: { from: number; to: number; signal: AbortSignal },
  ): Promise<Curve> {
    const query = new URLSearchParams({ points: String(points) });
    if (range) {
      query.set("from", String(Math.floor(range.from)));
      if (Number.isFinite(range.to)) query.set("to", String(Math.ceil(range.to)));
    }
    const path = `api/runs/${encodeURIComponent(id)}/series/${encodeURIComponent(name)}?${query}`;
    const curve = Curve.from_wire(await this.get<WireCurve>(path, range?.signal));
    if (!range) curve.ends_at(last_step, last);
    return curve;
  }

  /** A series that is shown only on demand. */
  async want(name: string): Promise<void> {
    const drawn = this.store.state.drawn;
    const series = drawn?.detail.series.find((each) => each.name === name);
    if (!drawn || !series || drawn.curves.has(name)) return;
    try {
      drawn.curves.set(name, await this.curve_of(drawn.detail.id, series, k_points));
      this.store.set({ ticks: this.store.state.ticks + 1 });
    } catch (error) {
      if (!(error instanceof Failure)) this.lost(error);
    }
  }

  /** Finer buckets of a range (an open end: points that come are laid behind them), of all series that are drawn and were thinned. */
  async refine(from: number, to: number): Promise<void> {
    this.fine_wanted?.abort();
    const wanted = new AbortController();
    this.fine_wanted = wanted;
    const both = [this.store.state.drawn, this.store.state.compared];
    const jobs = both.flatMap((drawn) =>
      !drawn
        ? []
        : drawn.detail.series
            .filter((series) => drawn.curves.get(series.name)?.exact === false)
            .map(async (series) => {
              const range = { from, to, signal: wanted.signal };
              const curve = await this.curve_of(drawn.detail.id, series, k_points, range);
              if (!wanted.signal.aborted) drawn.fine.set(series.name, { curve, from, to });
            }),
    );
    await Promise.allSettled(jobs);
    if (!wanted.signal.aborted) this.store.set({ ticks: this.store.state.ticks + 1 });
  }

  async stop(id: string): Promise<void> {
    const answer = await fetch(`${this.base}api/runs/${encodeURIComponent(id)}/stop`, {
      method: "POST",
      credentials: "same-origin",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ confirm: true }),
    });
    if (!answer.ok) throw await failure_of(answer);
  }

  // --- events ---

  private async listen(): Promise<void> {
    const events = new EventSource(`${this.base}api/events`);
    this.events = events;
    const open = new Promise<void>((resolve) => {
      events.addEventListener("open", () => resolve(), { once: true });
      setTimeout(resolve, 1000);
    });
    const on = (name: string, take: (data: unknown) => void) => {
      events.addEventListener(name, (event) => {
        this.heard();
        let data: unknown = null;
        try {
          data = JSON.parse((event as MessageEvent<string>).data || "null");
        } catch {
          return; // one torn event is not the end of the page: the next probe brings what it held
        }
        if (this.loading > 0 && name !== "reset") this.waiting.push(() => take(data));
        else take(data);
      });
    };
    on("runs", (data) => {
      this.store.merge_runs(runs_in(data));
      const first = this.store.state.runs[0];
      if (this.store.state.selected === null && first)
        void this.show(first.id).catch((error) => this.lost(error));
    });
    on("points", (data) =>
      this.take_points(data as { run: string; series: Record<string, [number, WireNumber][]> }),
    );
    on("marks", (data) => {
      const { run, marks } = data as { run: string; marks: Mark[] };
      if (Array.isArray(marks)) this.store.set_marks(run, marks);
    });
    on("log", (data) => {
      const { run, lines } = data as { run: string; lines: LogLine[] };
      if (Array.isArray(lines)) this.store.add_lines(run, lines);
    });
    on("report", (data) => void this.report_changed(data as { run: string; revision: number }));
    on("gone", (data) => {
      const { run } = data as { run: string };
      this.store.set({ runs: this.store.state.runs.filter((each) => each.id !== run) });
      if (this.store.state.selected === run)
        this.store.set({
          trouble: "The files of this run are gone; what is shown is the last that was read.",
        });
    });
    on("reset", () => void this.refresh().catch((error) => this.lost(error)));
    events.onopen = () => this.heard();
    events.onerror = () => {
      // CONNECTING: the browser tries again by itself and says where it stopped (Last-Event-ID). CLOSED: it gave up,
      // for the server answered with an error; then all is fetched anew.
      const closed = events.readyState === EventSource.CLOSED;
      const what = closed
        ? "it sends no news (it may have as many viewers as it takes); all is fetched anew every few seconds"
        : "the connection broke";
      this.lost(new Error(what), closed);
    };
    await open;
  }

  private heard(): void {
    this.heard_ms = Date.now();
    this.attempt = 0;
    if (this.store.state.link.kind !== "live") this.store.set({ link: { kind: "live" } });
  }

  private lost(error: unknown, again = true): void {
    if (error instanceof Failure && error.status === 401) {
      this.events?.close();
      this.store.set({ link: { kind: "refused" } });
      this.connect_soon(k_wait_ms[k_wait_ms.length - 1] as number);
      return;
    }
    const before = this.store.state.link;
    const what =
      error instanceof Failure
        ? error.error.what
        : error instanceof TypeError || !(error instanceof Error) || error.name === "AbortError"
          ? "the program does not answer" // what fetch throws has the browser's words
          : error.message;
    this.store.set({
      link: {
        kind: "lost",
        since: before.kind === "lost" ? before.since : Date.now() / 1000,
        what,
      },
    });
    if (!again) return;
    this.connect_soon(k_wait_ms[Math.min(this.attempt++, k_wait_ms.length - 1)] as number);
  }

  /** Nothing was heard for a while: is there anybody? A laptop that slept has a dead connection that looks open. */
  private async probe(): Promise<void> {
    const link = this.store.state.link.kind;
    if (link === "lost" && this.events?.readyState === EventSource.CONNECTING) {
      if (Date.now() - this.heard_ms > k_probe_after_ms) this.connect_soon(0);
      return;
    }
    if (link !== "live" || Date.now() - this.heard_ms < k_probe_after_ms) return;
    try {
      const list = await this.get<RunList>("api/runs");
      this.heard_ms = Date.now();
      this.store.set({ server: list.server });
      this.store.set_runs(list.runs);
      this.store.merge_runs(list.runs);
    } catch (error) {
      this.events?.close();
      this.lost(error);
    }
  }

  private take_points(data: { run: string; series: Record<string, [number, WireNumber][]> }): void {
    const { drawn, compared, ticks } = this.store.state;
    const target =
      drawn?.detail.id === data.run ? drawn : compared?.detail.id === data.run ? compared : null;
    if (!target || !data.series) return;
    for (const [name, points] of Object.entries(data.series)) {
      if (!target.detail.series.some((each) => each.name === name)) {
        void this.report_changed({ run: data.run, revision: -1 });
        return;
      }
      const curve = target.curves.get(name);
      const fine = target.fine.get(name);
      for (const [step, value] of points) {
        curve?.append(step, value);
        if (fine && step >= fine.from && step <= fine.to) fine.curve.append(step, value);
      }
    }
    this.store.set({ ticks: ticks + 1 }, true);
  }

  /** The verdict or what is known of the run changed: its detail is fetched, its curves stay. */
  private async report_changed(data: { run: string; revision: number }): Promise<void> {
    const drawn = this.store.state.drawn;
    if (!drawn || drawn.detail.id !== data.run || data.revision === drawn.detail.revision) return;
    if (this.fetching_detail === data.run) {
      this.detail_again = true;
      return;
    }
    this.fetching_detail = data.run;
    try {
      do {
        this.detail_again = false;
        const detail = await this.detail_of(data.run);
        const now = this.store.state.drawn;
        if (now?.detail.id !== data.run) return;
        const log = with_lines(now.detail.log, detail.log);
        this.store.set({ drawn: { ...now, detail: { ...detail, log } } });
        this.store.merge_runs([summary_of(detail)]);
        for (const panel of panels_of(detail)) {
          if (panel.main) for (const series of panel.series) await this.want(series.name);
        }
      } while (this.detail_again);
    } catch (error) {
      if (!(error instanceof Failure)) this.lost(error);
    } finally {
      this.fetching_detail = null;
    }
  }

  private note_clock(answer: Response): void {
    const date = Date.parse(answer.headers.get("Date") ?? "");
    if (Number.isNaN(date)) return;
    const skew = (date - Date.now()) / 1000;
    // The header has whole seconds: less than two are rounding.
    const skew_s = Math.abs(skew) < 2 ? 0 : skew;
    if (Math.abs(skew_s - this.store.state.skew_s) > 2) this.store.set({ skew_s });
  }
}

const runs_in = (data: unknown): RunSummary[] => {
  if (Array.isArray(data)) return data as RunSummary[];
  const runs = (data as { runs?: RunSummary[] } | null)?.runs;
  return Array.isArray(runs) ? runs : [];
};

const summary_of = (detail: RunDetail): RunSummary => {
  const { revision, report, series, marks, ranks, memory, log, ...summary } = detail;
  return summary;
};

/** The run that the address names (`#run=ID`), so that a link leads to it. */
export const run_of_address = (runs: RunSummary[]): string | null => {
  const named = new URLSearchParams(location.hash.slice(1)).get("run");
  return runs.some((run) => run.id === named) ? named : null;
};
