import { render } from "preact";
import "uplot/dist/uPlot.min.css";
import { App } from "./app";
import { Live } from "./live";
import { show_still, still_run } from "./still";
import { Store } from "./store";
import "./style.css";
import { choose_theme, kept_theme } from "./theme";

const root = document.getElementById("app");
if (root) {
  choose_theme(kept_theme()); // before anything is drawn
  const store = new Store();
  const still = still_run();
  const live = still ? null : new Live(store);
  if (still) show_still(store, still);
  render(<App page={{ store, live }} />, root);
  live?.start();
}
