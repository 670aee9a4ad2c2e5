// usage: node tests/measure.mjs. First paint of a run of 1,000,000 points and a zoom, in headless Chromium; no limits are
// asserted here, for a machine that is busy would break them.
import { median, open_browser, open_page, until, zoom_ms } from "./browser.mjs";
import { noise_of } from "./made.mjs";
import { MadeRun, StandIn } from "./stand_in.mjs";

const server = await new StandIn().start();
const run = new MadeRun("million", { standing: "healthy", headline: "The run learns" });
const noise = noise_of(1);
for (const [name, role] of [
  ["loss", "loss"],
  ["grad_norm", "grad_norm"],
  ["lr", "lr"],
  ["tokens_per_s", "tokens_per_s"],
])
  for (let step = 1; step <= 250_000; ++step)
    run.put(String(name), String(role), step, 2 + 8 * Math.exp(-step / 30000) + 0.1 * noise());
// The stand-in's own work (JavaScript over every sample) is not the page's: its answers are made before they are asked for.
const kept = new Map();
const buckets = run.buckets.bind(run);
run.buckets = (
  /** @type {string} */ name,
  /** @type {number} */ from,
  /** @type {number} */ to,
  /** @type {number} */ points,
) => {
  const key = `${name} ${from} ${to} ${points}`;
  if (!kept.has(key)) kept.set(key, buckets(name, from, to, points));
  return kept.get(key);
};
for (const name of run.series.keys()) run.buckets(name, -Infinity, Infinity, 1600);
server.add(run);
const browser = await open_browser();
const paints = [];
const zooms = [];
const refined = [];
for (let round = 0; round < 7; ++round) {
  const { page, context } = await open_page(browser);
  const begin = performance.now();
  await page.goto(server.url);
  await page.waitForFunction(
    () =>
      document.querySelectorAll(".chart canvas").length === 4 &&
      document.querySelector('[aria-label*="at step 250,000"]'),
    null,
    { polling: "raf" },
  );
  paints.push(performance.now() - begin);
  for (let zoom = 0; zoom < 5; ++zoom) {
    const asked = server.asked.length;
    zooms.push(await zoom_ms(page));
    const start = performance.now();
    await until(() => server.asked.length >= asked + 4, "finer buckets");
    await page.waitForFunction(
      () =>
        performance
          .getEntriesByType("resource")
          .slice(-4)
          .every((entry) => /** @type {PerformanceResourceTiming} */ (entry).responseEnd > 0),
      null,
      { polling: "raf" },
    );
    refined.push(performance.now() - start);
  }
  await context.close();
}
console.log(
  `first paint of 1,000,000 points with four charts: median ${Math.round(median(paints) ?? 0)} ms of ${paints.map(Math.round).join(", ")}`,
);
console.log(
  `zoom until the next frame is drawn: median ${Math.round(median(zooms) ?? 0)} ms, worst ${Math.round(Math.max(...zooms))} ms`,
);
console.log(
  `finer buckets, with the stand-in's work: median ${Math.round(median(refined) ?? 0)} ms`,
);
// From an event that is sent to its value on the page, ten a second.
const { page } = await open_page(browser);
await page.goto(server.url);
await page.getByText("live", { exact: true }).waitFor();
await page.evaluate(() => {
  const seen = /** @type {Record<string, number>} */ ({});
  Object.assign(window, { seen });
  const look = () => {
    const label = document.querySelector('[data-chart="loss"] .area')?.getAttribute("aria-label");
    const step = /at step (\d[\d,]*\d)/.exec(label ?? "")?.[1]?.replaceAll(",", "");
    if (step && !seen[step]) seen[step] = Date.now();
    requestAnimationFrame(look);
  };
  look();
});
/** @type {Map<string, number>} */
const sent = new Map();
for (let step = 250_001; step <= 250_050; ++step) {
  sent.set(String(step), Date.now());
  server.step(run, step, { loss: ["loss", 2] });
  await new Promise((resolve) => setTimeout(resolve, 100));
}
await new Promise((resolve) => setTimeout(resolve, 500));
const seen = await page.evaluate(() => /** @type {any} */ (window).seen);
const late = [...sent].flatMap(([step, at]) => (seen[step] ? [seen[step] - at] : []));
console.log(
  `from an event to its point: median ${median(late)} ms, worst ${Math.max(...late)} ms, of ${late.length}`,
);
await browser.close();
await server.kill();
