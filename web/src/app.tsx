import { useEffect, useRef } from "preact/hooks";
import { type Page, PageContext, use_page, use_state } from "./context";
import { Causes } from "./parts/causes";
import { Charts } from "./parts/charts";
import { Compare, use_parting } from "./parts/compare";
import { Facts } from "./parts/facts";
import { Log } from "./parts/log";
import { Part } from "./parts/pieces";
import { Ranks } from "./parts/ranks";
import { Runs } from "./parts/runs";
import { Help, LinkBar, Top } from "./parts/top";
import { Herald, Hero } from "./parts/verdict";
import { visible } from "./text";

export const App = ({ page }: { page: Page }) => (
  <PageContext.Provider value={page}>
    <Whole />
  </PageContext.Provider>
);

const Whole = () => {
  const { live } = use_page();
  const { runs } = use_state();
  const help = useRef<HTMLDialogElement | null>(null);
  use_keys(() => help.current?.showModal());
  const with_list = live !== null && runs.length > 1;
  return (
    <div class={`page ${with_list ? "with-list" : ""}`}>
      <a class="skip" href="#main">
        To the verdict
      </a>
      <Top help={() => help.current?.showModal()} />
      <LinkBar />
      <Runs />
      <Main />
      <Herald />
      <Help dialog={help} />
    </div>
  );
};

const Main = () => {
  const { live } = use_page();
  const { drawn, compared, trouble, selected, runs, link, ticks, server } = use_state();
  const parted = use_parting(drawn, compared, ticks);
  return (
    <main id="main" tabIndex={-1} aria-busy={selected !== null && drawn === null}>
      {trouble && (
        <p class="bar warn" role="alert">
          {visible(trouble)}
        </p>
      )}
      {drawn ? (
        <>
          <Part name="The verdict" of={drawn.detail}>
            <Hero run={drawn.detail} />
          </Part>
          <Part name="Where the run is" of={drawn.detail}>
            <Facts run={drawn.detail} />
          </Part>
          <Part name="The charts" of={drawn}>
            <Charts drawn={drawn} part_at={parted?.step ?? null} key={drawn.detail.id} />
          </Part>
          <Part name="The comparison" of={compared}>
            <Compare parted={parted} />
          </Part>
          <Part name="The ranks" of={drawn.detail}>
            <Ranks ranks={drawn.detail.ranks} />
          </Part>
          <Part name="The log" of={drawn.detail.log}>
            <Log lines={drawn.detail.log} key={`log ${drawn.detail.id}`} />
          </Part>
          <Part name="The causes" of={drawn.detail.report}>
            <Causes run={drawn.detail} />
          </Part>
        </>
      ) : (
        <Waiting nothing={link.kind === "live" && runs.length === 0} />
      )}
      <footer>
        aplomb {live && server ? visible(server.version) : ""}
        {live
          ? " · this page talks to aplomb and to nobody else"
          : " · this page loads nothing and sends nothing"}
      </footer>
    </main>
  );
};

const Waiting = ({ nothing }: { nothing: boolean }) => (
  <div class="hero calm">
    <h1>{nothing ? "No run yet" : "Reading"}</h1>
    <p class="lead">
      {nothing
        ? "Nothing that looks like a run was found. It appears here as soon as one writes its first line."
        : ""}
    </p>
  </div>
);

/** Keys that hold everywhere but where somebody types. */
const use_keys = (help: () => void) => {
  const { store, live } = use_page();
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      const at = event.target as HTMLElement;
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (/^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName)) {
        if (event.key === "Escape") at.blur();
        return;
      }
      if (document.querySelector("dialog[open]")) return;
      const focus = (id: string) => {
        const element = document.getElementById(id);
        element?.focus();
        element?.scrollIntoView({ block: "nearest" });
      };
      const go = (by: number) => {
        const { runs, selected } = store.state;
        const next = runs[runs.findIndex((run) => run.id === selected) + by];
        if (next) void live?.choose(next.id);
      };
      const acts: Record<string, () => void> = {
        "?": help,
        "/": () => {
          const unfold = document.querySelector<HTMLElement>(".unfold[aria-expanded=false]");
          if (unfold && unfold.offsetParent !== null) unfold.click();
          setTimeout(() => focus("search"));
        },
        f: () => focus("filter"),
        c: () => focus("other"),
        t: () => document.getElementById("theme")?.click(),
        j: () => go(1),
        k: () => go(-1),
        "0": () => store.set({ range: { kind: "all" } }),
        Escape: () => store.set({ range: { kind: "all" } }),
      };
      const act = acts[event.key];
      if (!act) return;
      event.preventDefault();
      act();
    };
    document.addEventListener("keydown", pressed);
    return () => document.removeEventListener("keydown", pressed);
  }, [store, live]);
};
