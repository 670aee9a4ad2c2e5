import type { ComponentChildren } from "preact";
import { use_now, use_page } from "../context";
import type { RunDetail } from "../contract";
import { group, show_bytes, show_clock, show_duration, show_money, show_rate } from "../text";

/** Where the run is: the time since its last step first, for a run that stands still looks like one that goes on. */
export const Facts = ({ run }: { run: RunDetail }) => {
  const { live } = use_page();
  const now = use_now();
  const share =
    run.step !== null && run.total_steps ? Math.min(1, run.step / run.total_steps) : null;
  return (
    <dl class="facts" aria-label="Where the run is">
      <LastStep run={run} now={now} live={live !== null} />
      {run.step !== null && (
        <Fact name="Step" class="steps">
          {group(run.step)}
          {run.total_steps !== null && <small> of {group(run.total_steps)}</small>}
          {share !== null && (
            <progress max={1} value={share} aria-label="Share of the steps that are done" />
          )}
        </Fact>
      )}
      {run.rate !== null && run.rate > 0 && run.state !== "silent" && (
        <Fact name="Rate">{show_rate(run.rate)}</Fact>
      )}
      {run.eta_s !== null && run.state === "running" && (
        <Fact name="Left">
          {show_duration(run.eta_s)} <small>until {show_clock(now + run.eta_s, now)}</small>
        </Fact>
      )}
      {run.started_at !== null && (
        <Fact name="Began">
          {show_clock(run.started_at, now)}{" "}
          {live && run.state === "running" && (
            <small>{show_duration(now - run.started_at)} ago</small>
          )}
        </Fact>
      )}
      {run.cost && run.cost.so_far !== null && (
        <Fact name="Cost so far">
          {show_money(run.cost.so_far, run.cost.currency)}
          {run.cost.per_hour !== null && (
            <small> {show_money(run.cost.per_hour, "")} an hour</small>
          )}
        </Fact>
      )}
      {run.memory?.device_bytes != null && (
        <Fact name="Device memory">{show_bytes(run.memory.device_bytes)}</Fact>
      )}
      {run.memory?.host_bytes != null && (
        <Fact name="Host memory">{show_bytes(run.memory.host_bytes)}</Fact>
      )}
    </dl>
  );
};

const Fact = ({
  name,
  class: kind = "",
  children,
}: {
  name: string;
  class?: string;
  children: ComponentChildren;
}) => (
  <div class={`fact ${kind}`}>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
);

const LastStep = ({ run, now, live }: { run: RunDetail; now: number; live: boolean }) => {
  const since = run.last_step_at === null ? null : Math.max(0, now - run.last_step_at);
  const ago = since === null ? "" : `${show_duration(since)} ago`;
  const at = run.last_step_at === null ? "" : show_clock(run.last_step_at, now);
  if (!live || run.state === "ended" || run.state === "stopped" || run.state === "failed") {
    const word =
      { ended: "Ended", stopped: "Stopped", failed: "Failed" }[run.state as string] ??
      "As it stood";
    return (
      <Fact name={word} class={run.state === "failed" ? "alarm" : ""}>
        {live ? ago : at} {live && at && <small>last step {at}</small>}
      </Fact>
    );
  }
  if (run.state === "silent") {
    return (
      <Fact name="No step for" class="alarm">
        {since === null ? "as long as this was watched" : show_duration(since)}{" "}
        {at && <small>last {at}</small>}
      </Fact>
    );
  }
  return <Fact name="Last step">{ago || "none yet"}</Fact>;
};

export const k_state_words: Record<string, string> = {
  running: "running",
  silent: "no steps",
  ended: "ended",
  failed: "failed",
  stopped: "stopped",
  unknown: "unknown",
};
