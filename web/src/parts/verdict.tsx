import { useEffect, useRef, useState } from "preact/hooks";
import { use_page, use_state } from "../context";
import type { Remedy, RunDetail } from "../contract";
import { text_of, visible } from "../text";
import { verdict_of, ways_of } from "../verdict";
import { Copy, Prose } from "./pieces";

/** The first two lines: what is wrong and why, and what to do first. */
export const Hero = ({ run }: { run: RunDetail }) => {
  const verdict = verdict_of(run, run.report);
  return (
    <header class={`hero ${verdict.tone}`}>
      <p class="chip">{verdict.word}</p>
      <h1>
        <Prose text={verdict.title} />
        {verdict.sure && <span class="sure"> {verdict.sure}</span>}
      </h1>
      {verdict.seen && verdict.seen !== verdict.title && (
        <p class="lead">
          <Prose text={verdict.seen} />
        </p>
      )}
      {verdict.test && (
        <p class="do">
          <b class="label">Find out</b>
          <span>
            <Prose text={verdict.test.text} />
          </span>
        </p>
      )}
      {verdict.fix && (
        <Fix
          remedy={verdict.fix}
          label={
            verdict.either ? "If it is the first" : verdict.tone === "good" ? "Next" : "Do first"
          }
          framework={text_of(run.report?.summary.framework)}
          copied={verdict.tone !== "good"}
        />
      )}
    </header>
  );
};

export const Fix = ({
  remedy,
  label,
  framework,
  copied = true,
}: {
  remedy: Remedy;
  label: string;
  framework: string;
  copied?: boolean;
}) => {
  const ways = ways_of(remedy, framework);
  const [chosen, choose] = useState("");
  const way = ways.find(([slug]) => slug === chosen) ?? ways[0];
  return (
    <div class="do">
      <b class="label">{label}</b>
      <div class="what">
        <p>
          <Prose text={remedy.text} />
          {!way && copied && (
            <>
              {" "}
              <Copy text={remedy.text} what="the first fix" />
            </>
          )}
        </p>
        {way && (
          <div class="way">
            <pre>{visible(way[1])}</pre>
            {ways.length > 1 && (
              <select
                aria-label="In the words of"
                value={way[0]}
                onChange={(event) => choose(event.currentTarget.value)}
              >
                {ways.map(([slug]) => (
                  <option key={slug} value={slug}>
                    {slug === "generic" ? "any framework" : visible(slug)}
                  </option>
                ))}
              </select>
            )}
            <Copy text={way[1]} what="the first fix" />
          </div>
        )}
      </div>
    </div>
  );
};

/** Says changes of the verdict aloud, and in the title of the tab; never the first one, which is read anyway. */
export const Herald = () => {
  const { store } = use_page();
  const { drawn, link } = use_state();
  const before = useRef<{ run: string; said: string } | null>(null);
  const [told, tell] = useState("");
  const run = drawn?.detail;
  const verdict = run ? verdict_of(run, run.report) : null;
  const said = run && verdict ? `${verdict.word}: ${verdict.title}` : "";
  const stopped = run?.state === "silent" ? " No steps are coming." : "";
  useEffect(() => {
    if (!run || !verdict) return;
    const now = said + stopped;
    if (before.current?.run === run.id && before.current.said !== now) {
      tell(`${now}${verdict.fix ? ` First: ${verdict.fix.text}` : ""}`);
      store.set({ told: now });
    }
    before.current = { run: run.id, said: now };
  }, [run?.id, said, stopped]);
  useEffect(() => {
    const lost = link.kind === "lost" || link.kind === "refused" ? "(no connection) " : "";
    document.title =
      run && verdict ? `${lost}${verdict.word} · ${visible(run.name)} · aplomb` : "aplomb";
  }, [run?.name, verdict?.word, link.kind]);
  return (
    <p class="offstage" role="status" aria-live={verdict?.tone === "bad" ? "assertive" : "polite"}>
      {visible(told)}
    </p>
  );
};
