import { useEffect, useRef, useState } from "preact/hooks";
import { use_now, use_page, use_state } from "../context";
import { Failure } from "../live";
import { show_duration, visible } from "../text";
import { choose_theme, k_themes, kept_theme, type Theme } from "../theme";

const use_theme = (): [Theme, () => void] => {
  const [theme, set] = useState<Theme>(kept_theme);
  useEffect(() => choose_theme(theme), [theme]);
  return [theme, () => set(k_themes[(k_themes.indexOf(theme) + 1) % k_themes.length] as Theme)];
};

export const Top = ({ help }: { help: () => void }) => {
  const { drawn, server } = use_state();
  const [theme, next_theme] = use_theme();
  const run = drawn?.detail;
  const can_stop = Boolean(
    run &&
      (run.can_stop ?? server?.can_stop) &&
      (run.state === "running" || run.state === "silent"),
  );
  return (
    <header class="top">
      <b class="brand">aplomb</b>
      <span class="run" title={run ? visible(run.path) : ""}>
        {run ? visible(run.name) : ""}
      </span>
      <Connection />
      {run && can_stop && <Stop id={run.id} name={run.name} />}
      <button
        type="button"
        id="theme"
        aria-label={`Theme: ${theme}. Light or dark`}
        onClick={next_theme}
      >
        {theme}
      </button>
      <button type="button" aria-label="Help and keys" aria-keyshortcuts="?" onClick={help}>
        ?
      </button>
    </header>
  );
};

/** Whether what is shown is what is: a small word while it is, a bar across the page when it is not. */
const Connection = () => {
  const { link } = use_state();
  const words = {
    connecting: "connecting",
    live: "live",
    lost: "no connection",
    refused: "no access",
    still: "report",
  };
  return (
    <span class={`link ${link.kind}`} role="status">
      <i aria-hidden="true" />
      {words[link.kind]}
    </span>
  );
};

export const LinkBar = () => {
  const { link, drawn } = use_state();
  const now = use_now();
  const { store } = use_page();
  if (link.kind === "refused") {
    return (
      <div class="bar bad" role="alert">
        <b>This page may no longer ask.</b> The program was started again, or the session is over:
        open the address with the token that it prints.
      </div>
    );
  }
  if (link.kind !== "lost") return null;
  return (
    <div class="bar warn">
      <span role="alert">
        <b>No connection to aplomb</b>: {visible(link.what)}.{" "}
        {drawn
          ? "What is shown is the last that came; the training itself does not need this page. "
          : ""}
      </span>
      {/* Outside of the alert: nobody wants to hear each second. */}
      <span class="soft">
        Trying again since {show_duration(now - store.state.skew_s - link.since)}.
      </span>
    </div>
  );
};

const Stop = ({ id, name }: { id: string; name: string }) => {
  const { live } = use_page();
  const { link } = use_state();
  const dialog = useRef<HTMLDialogElement>(null);
  const [told, tell] = useState("");
  const [asked, ask] = useState(false);
  const stop = async () => {
    ask(true);
    try {
      await live?.stop(id);
      tell("Asked to end (SIGTERM). The report follows when it is over.");
      setTimeout(() => dialog.current?.close(), 1200);
    } catch (error) {
      ask(false);
      tell(
        error instanceof Failure
          ? `${error.error.what}. ${error.error.do}`
          : "The program does not answer.",
      );
    }
  };
  return (
    <>
      <button
        type="button"
        class="stop"
        disabled={link.kind !== "live"}
        onClick={() => {
          tell("");
          ask(false);
          dialog.current?.showModal();
        }}
      >
        Stop
      </button>
      <dialog ref={dialog} aria-labelledby="stop-title">
        <h2 id="stop-title">Stop this run?</h2>
        <p>
          <b>{visible(name)}</b> and all of its processes are asked to end (SIGTERM). Steps since
          its last checkpoint are lost.
        </p>
        <p role="status" class="soft">
          {visible(told)}
        </p>
        <div class="tools">
          {/* biome-ignore lint/a11y/noAutofocus: in a dialog the safe answer has the focus, so that Enter stops nothing. */}
          <button type="button" autoFocus onClick={() => dialog.current?.close()}>
            Let it run
          </button>
          <button type="button" class="stop" id="stop-now" disabled={asked} onClick={stop}>
            Stop the run
          </button>
        </div>
      </dialog>
    </>
  );
};

const k_keys: [string, string][] = [
  ["?", "this help"],
  ["/", "search the runs"],
  ["j, k", "the next run, the one before"],
  ["f", "filter the log"],
  ["c", "compare with another run"],
  ["t", "light, dark, or as the system has it"],
  ["0", "all steps"],
  ["←, →", "in a chart: the values one place on"],
  ["Page up, Page down", "in a chart: far on, far back"],
  ["+, −", "in a chart: zoom in and out around the cursor"],
  ["Esc", "lets go: the cursor, the zoom, a dialog"],
];

export const Help = ({ dialog }: { dialog: { current: HTMLDialogElement | null } }) => (
  <dialog
    ref={(element) => {
      dialog.current = element;
    }}
    aria-labelledby="help-title"
  >
    <h2 id="help-title">Keys</h2>
    <table>
      <tbody>
        {k_keys.map(([key, what]) => (
          <tr key={key}>
            <th scope="row">
              <kbd>{key}</kbd>
            </th>
            <td>{what}</td>
          </tr>
        ))}
      </tbody>
    </table>
    <p class="soft small">
      With the mouse: drag across a chart to zoom, click twice for all steps.
    </p>
    <div class="tools">
      <button type="button" onClick={() => dialog.current?.close()}>
        Close
      </button>
    </div>
  </dialog>
);
