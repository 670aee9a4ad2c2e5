import { createContext } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";
import type { Live } from "./live";
import type { State, Store } from "./store";

/** What the parts of the page reach: what is shown, and whom to ask (nobody, on a report page). */
export interface Page {
  store: Store;
  live: Live | null;
}

export const PageContext = createContext<Page | null>(null);

export const use_page = (): Page => {
  const page = useContext(PageContext);
  if (!page) throw new Error("a part stands outside of the page");
  return page;
};

export const use_state = (): State => {
  const { store } = use_page();
  const [state, set] = useState(store.state);
  useEffect(() => {
    set(store.state);
    return store.subscribe(() => set(store.state));
  }, [store]);
  return state;
};

/** The time in seconds, of the server's clock, anew each second; it stands still on a report page. */
export const use_now = (): number => {
  const { store, live } = use_page();
  const now = () => Date.now() / 1000 + store.state.skew_s;
  const [at, set] = useState(now);
  useEffect(() => {
    if (!live) return;
    const timer = setInterval(() => set(now()), 1000);
    return () => clearInterval(timer);
  }, [live]);
  return at;
};
