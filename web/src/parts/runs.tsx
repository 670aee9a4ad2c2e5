import { memo } from "preact/compat";
import { useMemo, useState } from "preact/hooks";
import { use_page, use_state } from "../context";
import type { RunSummary } from "../contract";
import { group, visible } from "../text";
import { standing_of } from "../verdict";
import { k_state_words } from "./facts";

/** The list of runs, those that need eyes first; a search over names, paths, verdicts and headlines. */
export const Runs = () => {
  const { runs, selected } = use_state();
  const { live } = use_page();
  const [search, set_search] = useState("");
  const [open, set_open] = useState(false);
  const wanted = search.trim().toLowerCase().split(/\s+/).filter(Boolean);
  const found = useMemo(
    () =>
      runs.filter((run) => {
        const text =
          `${run.name} ${run.path} ${run.state} ${run.standing} ${run.headline}`.toLowerCase();
        return wanted.every((word) => text.includes(word));
      }),
    [runs, search],
  );
  if (!live || runs.length < 2) return null;
  const choose = (id: string) => {
    set_open(false);
    void live.choose(id);
    document.getElementById("main")?.focus({ preventScroll: true });
    window.scrollTo(0, 0);
  };
  return (
    <nav class={`runs ${open ? "open" : ""}`} aria-label="Runs">
      <button
        type="button"
        class="unfold"
        aria-expanded={open}
        aria-controls="runs-list"
        onClick={() => set_open(!open)}
      >
        Runs ({runs.length})
      </button>
      <div class="inner" id="runs-list">
        <input
          id="search"
          type="search"
          placeholder={`Search ${runs.length} runs`}
          aria-label="Search the runs"
          value={search}
          onInput={(event) => set_search(event.currentTarget.value)}
          onKeyDown={(event) => {
            const first = found[0];
            if (event.key === "Enter" && first) choose(first.id);
          }}
        />
        <ul>
          {found.map((run) => (
            <Row key={run.id} run={run} here={run.id === selected} choose={choose} />
          ))}
        </ul>
        <p class="soft small" role="status">
          {wanted.length > 0 ? `${found.length} of ${runs.length} runs` : ""}
        </p>
      </div>
    </nav>
  );
};

const Row = memo(
  ({ run, here, choose }: { run: RunSummary; here: boolean; choose: (id: string) => void }) => {
    const [word, tone] = standing_of(run);
    return (
      <li>
        <button
          type="button"
          class={`run ${tone}`}
          aria-current={here ? "true" : undefined}
          title={visible(run.path)}
          onClick={() => choose(run.id)}
        >
          <span class="name">{visible(run.name)}</span>
          <span class="state">
            <b>{word}</b>{" "}
            {(k_state_words[run.state] ?? run.state) !== word.toLowerCase() &&
              (k_state_words[run.state] ?? run.state)}
            {run.step !== null && ` · ${group(run.step)}`}
          </span>
          {run.headline && tone !== "good" && <span class="headline">{visible(run.headline)}</span>}
        </button>
      </li>
    );
  },
  (a, b) => a.run === b.run && a.here === b.here,
);
