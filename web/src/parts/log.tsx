import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { LogLine } from "../contract";
import { shown_line } from "../text";

const k_longest = 2000;
/** Lines in the document: more make each update slow and are found by the filter. */
const k_shown = 400;

/** The last lines, those that the verdict rests on marked. */
export const Log = ({ lines }: { lines: LogLine[] }) => {
  const [filter, set_filter] = useState("");
  const [evidence_only, set_evidence_only] = useState(false);
  const [follow, set_follow] = useState(true);
  const box = useRef<HTMLDivElement>(null);
  const wanted = filter.trim().toLowerCase();
  const found = useMemo(
    () =>
      lines.filter(
        (line) =>
          (!evidence_only || line.evidence) &&
          (!wanted || line.text.toLowerCase().includes(wanted)),
      ),
    [lines, wanted, evidence_only],
  );
  const shown = found.slice(-k_shown);
  useLayoutEffect(() => {
    if (follow && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [shown, follow]);
  useEffect(() => {
    const at = box.current;
    if (!at) return;
    const scrolled = () => set_follow(at.scrollTop + at.clientHeight >= at.scrollHeight - 8);
    at.addEventListener("scroll", scrolled, { passive: true });
    return () => at.removeEventListener("scroll", scrolled);
  }, []);
  const marked = lines.filter((line) => line.evidence).length;
  if (lines.length === 0) return null;
  return (
    <section aria-labelledby="log">
      <div class="heading">
        <h2 id="log">Log</h2>
        <div class="tools">
          <input
            id="filter"
            type="search"
            placeholder="Filter lines"
            aria-label="Filter the lines of the log"
            value={filter}
            onInput={(event) => set_filter(event.currentTarget.value)}
          />
          {marked > 0 && (
            <button
              type="button"
              aria-pressed={evidence_only}
              onClick={() => set_evidence_only(!evidence_only)}
            >
              Evidence only ({marked})
            </button>
          )}
          {!follow && (
            <button type="button" onClick={() => set_follow(true)}>
              To the last line
            </button>
          )}
        </div>
      </div>
      <div class="log" ref={box} role="region" aria-label="The last lines of the log" tabIndex={0}>
        <ol>
          {shown.map((line) => (
            <li key={`${line.n} ${line.text.slice(0, 40)}`} class={line.evidence ? "evidence" : ""}>
              <span class="n">{line.n}</span>
              <span class="text">
                {line.evidence && <span class="offstage">evidence: </span>}
                {shown_line(line.text, k_longest)}
              </span>
            </li>
          ))}
        </ol>
        {shown.length === 0 && <p class="soft">No line holds “{filter}”.</p>}
      </div>
      <p class="soft small">
        {found.length === lines.length
          ? `The last ${lines.length} lines.`
          : `${found.length} of the last ${lines.length} lines.`}{" "}
        {marked > 0 && "A bar at the left marks lines that the verdict rests on."}
      </p>
    </section>
  );
};
