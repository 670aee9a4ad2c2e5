/**
 * What passes between the program and this page (docs/design/0009-live-page.md). The types say what is promised; what
 * comes is still taken with care where a wrong shape would break the page.
 */

export type RunState = "running" | "silent" | "ended" | "failed" | "stopped" | "unknown";

export interface Cost {
  so_far: number | null;
  per_hour: number | null;
  currency: string;
}

export interface RunSummary {
  id: string;
  name: string;
  path: string;
  state: RunState;
  standing: string;
  headline: string;
  fix: string | null;
  step: number | null;
  total_steps: number | null;
  last_step_at: number | null;
  started_at: number | null;
  rate: number | null;
  eta_s: number | null;
  cost: Cost | null;
  can_stop?: boolean;
}

export interface Evidence {
  path: string;
  line: number;
  step: number | null;
  text: string;
}

export interface Remedy {
  text: string;
  set: Record<string, unknown>;
  rendered: Record<string, string>;
}

export interface Weight {
  when: string;
  weight: number | null;
  because: string;
  evidence: Evidence[];
}

export interface Cause {
  id: string;
  family: string;
  title: string;
  probability: number;
  because: string;
  evidence: Evidence[];
  remedies: Remedy[];
  verify: string;
  weights: Weight[];
  references: string[];
}

export interface RuledOut {
  id: string;
  title: string;
  because: string;
  evidence: Evidence[];
}

export interface Symptom {
  id: string;
  severity: string;
  first_step: number;
  last_step: number;
  series: string;
  summary: string;
  evidence: Evidence[];
}

export interface Experiment {
  text: string;
  separates: string[];
  reads: string;
}

/** The parts of aplomb.report/1 that the page shows. */
export interface Report {
  schema: string;
  verdict: string;
  symptoms: Symptom[];
  causes: Cause[];
  ruled_out: RuledOut[];
  unknown_probability: number | null;
  experiments: Experiment[];
  summary: Record<string, unknown>;
  settings: Record<string, unknown>;
}

export interface SeriesInfo {
  name: string;
  role: string;
  unit: string;
  count: number;
  first_step: number;
  last_step: number;
  last: WireNumber | null;
}

/** A number, or one of "NaN", "Infinity", "-Infinity", which JSON has no words for. */
export type WireNumber = number | string | null;

export interface WireCurve {
  name?: string;
  steps: number[];
  min: WireNumber[];
  max: WireNumber[];
  exact: boolean;
}

export type MarkKind = "symptom" | "guard" | "checkpoint" | "restart" | "stage";

export interface Mark {
  kind: MarkKind;
  series: string | null;
  from: number;
  to: number;
  label: string;
  severity: "info" | "warning" | "error";
}

export interface Rank {
  rank: number;
  step: number | null;
  last_at: number | null;
  behind: number;
}

export interface LogLine {
  n: number;
  text: string;
  evidence: boolean;
}

export interface RunDetail extends RunSummary {
  revision: number;
  report: Report | null;
  series: SeriesInfo[];
  marks: Mark[];
  ranks: Rank[];
  memory: { device_bytes: number | null; host_bytes: number | null } | null;
  log: LogLine[];
}

const list = <T>(value: T[] | null | undefined): T[] => (Array.isArray(value) ? value : []);

const objects = <T>(value: T[] | null | undefined): T[] =>
  list(value).filter((each) => each !== null && typeof each === "object");

/** A detail as the page may rely on it: what is missing or of a wrong shape is empty. */
export const whole_detail = <T extends RunDetail>(detail: T): T => ({
  ...detail,
  report: detail.report && typeof detail.report === "object" ? whole_report(detail.report) : null,
  series: objects(detail.series).filter((each) => typeof each?.name === "string"),
  marks: objects(detail.marks),
  ranks: objects(detail.ranks),
  memory: detail.memory ?? null,
  log: objects(detail.log).filter((each) => typeof each?.text === "string"),
});

const whole_report = (report: Report): Report => ({
  ...report,
  verdict: report.verdict ?? "",
  symptoms: objects(report.symptoms).map((each) => ({ ...each, evidence: objects(each.evidence) })),
  causes: objects(report.causes).map((each) => ({
    ...each,
    evidence: objects(each.evidence),
    weights: objects(each.weights),
    references: list(each.references),
    remedies: objects(each.remedies).map((remedy) => ({
      ...remedy,
      rendered: remedy.rendered ?? {},
    })),
  })),
  ruled_out: objects(report.ruled_out),
  experiments: objects(report.experiments).map((each) => ({
    ...each,
    separates: list(each.separates),
  })),
  summary: report.summary ?? {},
  settings: report.settings ?? {},
});

/** The run of a report page: its series stand in it, for there is nobody to ask. */
export interface StillRun extends RunDetail {
  series: (SeriesInfo & WireCurve)[];
}

export interface ServerInfo {
  version: string;
  started: number;
  can_stop: boolean;
}

export interface RunList {
  schema: string;
  server: ServerInfo;
  runs: RunSummary[];
}

export interface ApiError {
  what: string;
  why: string;
  do: string;
}

export const k_schema = "aplomb.live/1";

export const number_of = (value: WireNumber | undefined): number => {
  if (typeof value === "number") return value;
  if (value === "Infinity") return Number.POSITIVE_INFINITY;
  if (value === "-Infinity") return Number.NEGATIVE_INFINITY;
  return Number.NaN;
};
