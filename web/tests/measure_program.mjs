// usage: node tests/measure_program.mjs [PROGRAM]. First paint and zoom of a run of 1,000,000 points (four series of 250,000 steps in
// one log) that `aplomb live` serves itself, in headless Chromium; no limits are asserted here.
import { spawn } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { median, open_browser, open_page, until, zoom_ms } from "./browser.mjs";
import { noise_of } from "./made.mjs";

const program = process.argv[2] ?? new URL("../../build/dev/aplomb", import.meta.url).pathname;
const folder = mkdtempSync(join(tmpdir(), "aplomb-million-"));
const k_steps = 250_000;
const noise = noise_of(1);
const log = openSync(join(folder, "train.log"), "w");
for (let step = 1; step <= k_steps; step += 1000) {
  let lines = "";
  for (let each = step; each < step + 1000; ++each) {
    const loss = 2 + 8 * Math.exp(-each / 30000) + 0.1 * noise();
    lines += `step ${each} | loss ${loss.toFixed(4)} | grad_norm ${(1 + 0.1 * noise()).toFixed(4)} | lr 2e-5 | tokens_per_s ${(4000 + 50 * noise()).toFixed(1)}\n`;
  }
  writeSync(log, lines);
}
closeSync(log);

const begun = performance.now();
const child = spawn(program, ["live", folder], { stdio: ["ignore", "pipe", "pipe"] });
let said = "";
for (const stream of [child.stdout, child.stderr])
  stream.on("data", (/** @type {Buffer} */ part) => {
    said += part;
  });
await until(() => /http:\S+token=\w+\n/.test(said), "an address", 60_000);
const url = /http:\S+/.exec(said)?.[0] ?? "";
const browser = await open_browser();
const last = `[aria-label*="at step ${k_steps.toLocaleString("en")}"]`;
/** @param {import("playwright-core").Page} page */
const painted = (page) =>
  page.waitForFunction(
    (/** @type {string} */ label) =>
      document.querySelectorAll(".chart canvas").length >= 4 && document.querySelector(label),
    last,
    { polling: "raf", timeout: 60_000 },
  );
const first = await open_page(browser);
await first.page.goto(url);
await painted(first.page);
console.log(
  `from the start of the program to the first paint, the log read on the way: ${Math.round(performance.now() - begun)} ms`,
);
const paints = [];
const zooms = [];
for (let round = 0; round < 7; ++round) {
  // The same visitor once more: the token was taken for a cookie.
  const page = await first.context.newPage();
  const at = performance.now();
  await page.goto(url.replace(/\?.*/, ""));
  await painted(page);
  paints.push(performance.now() - at);
  for (let zoom = 0; zoom < 5; ++zoom) zooms.push(await zoom_ms(page));
  await page.close();
}
console.log(
  `first paint of 1,000,000 points that the program serves: median ${Math.round(median(paints))} ms of ${paints.map(Math.round).join(", ")}`,
);
console.log(
  `zoom until the next frame is drawn: median ${Math.round(median(zooms))} ms, worst ${Math.round(Math.max(...zooms))} ms`,
);
await browser.close();
child.kill("SIGTERM");
rmSync(folder, { recursive: true, force: true });
