import type { Cause, Experiment, Remedy, Report, RunSummary } from "./contract";
import { show_percent, text_of } from "./text";

/**
 * The verdict in the words of the program's other views (src/report/view.cpp): how sure a cause has to be to be said
 * plainly, and what is said where two fit.
 */
const k_sure = 0.8;
const k_likely = 0.5;
const k_near = 0.25;

export type Tone = "bad" | "warn" | "good" | "calm";

export interface Verdict {
  word: string;
  tone: Tone;
  title: string;
  sure: string;
  seen: string;
  fix: Remedy | null;
  /** The test that tells two causes apart stands before a remedy that may be for the wrong one. */
  test: Experiment | null;
  answered: boolean;
  either: boolean;
}

const k_words: Record<string, [string, Tone]> = {
  failed: ["Failed", "bad"],
  unstable: ["Unstable", "bad"],
  warning: ["Warning", "warn"],
  healthy: ["Healthy", "good"],
  "insufficient-evidence": ["Unclear", "calm"],
  unclear: ["Unclear", "calm"],
};

export const word_of = (standing: string): [string, Tone] =>
  k_words[standing] ?? [
    standing ? standing.replace(/^./, (c) => c.toUpperCase()) : "Watching",
    "calm",
  ];

const is_answered = (report: Report): boolean =>
  report.causes.length > 0 &&
  !["healthy", "insufficient-evidence", "unclear"].includes(report.verdict);

const claim = (cause: Cause): string =>
  cause.probability >= k_sure
    ? cause.title
    : `${cause.probability >= k_likely ? "Probably: " : "Perhaps: "}${cause.title}`;

const telling_test = (report: Report): Experiment | null => {
  const [first, second] = report.causes;
  const both = report.experiments.find(
    (each) =>
      first && second && each.separates.includes(first.id) && each.separates.includes(second.id),
  );
  return both ?? report.experiments[0] ?? null;
};

const heaviest_reason = (cause: Cause): string => {
  let best: { because: string; weight: number } | null = null;
  for (const each of cause.weights) {
    if (each.because && (each.weight ?? 0) > (best?.weight ?? 0))
      best = { because: each.because, weight: each.weight ?? 0 };
  }
  return best?.because ?? "";
};

/**
 * The verdict, held against what the run does now: one that stands still, ended with an error or is no longer written is
 * never called healthy in the first line, whatever its last numbers were.
 */
export const verdict_of = (run: RunSummary, report: Report | null): Verdict => {
  const verdict = said_of(run, report);
  if (verdict.tone === "good" && run.state === "unknown") {
    return {
      ...verdict,
      word: "At rest",
      tone: "warn",
      title: "Nobody writes it any more, and no end was noted",
      sure: "",
      seen: `Before that: ${verdict.title}`,
      fix: null,
    };
  }
  if (verdict.tone === "bad" || (run.state !== "silent" && run.state !== "failed")) return verdict;
  const stands = run.state === "silent";
  const named = verdict.answered && verdict.tone !== "good";
  return {
    ...verdict,
    word: stands ? "No steps" : "Failed",
    tone: "bad",
    title: named
      ? verdict.title
      : stands
        ? "The run stands still, and nothing that was read says why"
        : "The run ended with an error that nothing explains yet",
    sure: named ? verdict.sure : "",
    seen: named ? verdict.seen : `Before that: ${verdict.seen || verdict.title}`,
    fix: named ? verdict.fix : null,
  };
};

/** The same in the list of runs. */
export const standing_of = (run: RunSummary): [string, Tone] => {
  const [word, tone] = word_of(run.standing);
  if (tone !== "bad" && run.state === "silent") return ["No steps", "bad"];
  if (tone !== "bad" && run.state === "failed") return ["Failed", "bad"];
  if (tone === "good" && run.state === "unknown") return ["At rest", "warn"];
  return [word, tone];
};

const said_of = (run: RunSummary, report: Report | null): Verdict => {
  const [word, tone] = word_of(run.standing || report?.verdict || "");
  const first_action = text_of(report?.summary.first_action) || run.fix || "";
  const spoken: Remedy | null = first_action ? { text: first_action, set: {}, rendered: {} } : null;
  const plain: Verdict = {
    word,
    tone,
    title: run.headline || "Nothing to say yet: too little was read",
    sure: "",
    seen: "",
    fix: spoken,
    test: null,
    answered: false,
    either: false,
  };
  if (!report) return plain;
  const seen = text_of(report.summary.seen);
  if (!is_answered(report)) {
    return { ...plain, title: text_of(report.summary.headline) || plain.title, seen };
  }
  const [first, second] = report.causes as [Cause, Cause | undefined];
  const either =
    second !== undefined &&
    first.probability < k_likely &&
    second.probability >= k_near * first.probability;
  if (either) {
    const two = first.probability + second.probability >= k_likely;
    return {
      ...plain,
      title: `${two ? "One of" : "Perhaps one of"}: ${first.title} (${show_percent(first.probability)}), or: ${second.title} (${show_percent(second.probability)})`,
      seen: seen || heaviest_reason(first),
      fix: first.remedies[0] ?? spoken,
      test: telling_test(report),
      answered: true,
      either: true,
    };
  }
  return {
    ...plain,
    title: claim(first),
    sure: show_percent(first.probability),
    seen: seen || heaviest_reason(first),
    fix: first.remedies[0] ?? spoken,
    answered: true,
  };
};

/** A remedy in each framework's words: the run's own first; of a loop of one's own what holds for any. */
export const ways_of = (remedy: Remedy, framework: string): [string, string][] => {
  const own = (slug: string) => framework !== "" && slug.startsWith(framework);
  const known = Object.keys(remedy.rendered).some(own);
  const rank = (slug: string) => {
    if (slug === framework) return 0;
    if (own(slug)) return 1;
    return slug === "generic" ? (known ? 3 : 0) : 2;
  };
  return Object.entries(remedy.rendered).sort(([a], [b]) => rank(a) - rank(b));
};

/** Where a reference leads: a link as it stands, an arXiv number to its page; nothing for other words. */
export const link_of = (reference: string): string | null => {
  if (/[\s"'<>]/.test(reference)) return null;
  if (reference.startsWith("https://")) return reference;
  const arxiv = /^arXiv:([\w./-]+)$/.exec(reference);
  return arxiv ? `https://arxiv.org/abs/${arxiv[1]}` : null;
};
