// The same front end as a page of its own, opened from a file.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { has_browser, open_browser, open_page, picture } from "./browser.mjs";
import { hostile_run, nan_marks, nan_report, train } from "./made.mjs";
import { MadeRun } from "./stand_in.mjs";

const template = readFileSync(new URL("../dist/report.html", import.meta.url), "utf8");

/** As the program fills it in. @param {MadeRun} run */
const page_of = (run) => {
  const detail = run.detail();
  const series = detail.series.map((each) => ({
    ...each,
    ...run.buckets(each.name, -Infinity, Infinity, 2000),
  }));
  const data = JSON.stringify({ ...detail, series }).replace(
    /[<>&]/g,
    (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  assert.equal(
    template.split('{"aplomb":"data"}').length,
    2,
    "the place for the run stands once in the template",
  );
  return template.replace('{"aplomb":"data"}', () => data);
};

describe("the report page", { skip: has_browser ? false : "no chromium" }, () => {
  /** @type {import("playwright-core").Browser} */
  let browser;
  const folder = mkdtempSync(join(tmpdir(), "aplomb-page-"));
  before(async () => {
    browser = await open_browser();
  });
  after(async () => {
    await browser.close();
    rmSync(folder, { recursive: true });
  });

  /** @param {MadeRun} run @param {(page: import("playwright-core").Page) => Promise<void>} body */
  const opened = async (run, body) => {
    const file = join(folder, "report.html");
    writeFileSync(file, page_of(run));
    const { page, context, faults } = await open_page(browser);
    /** @type {string[]} */
    const asked = [];
    page.on("request", (request) => {
      if (!/^(file|data|blob):/.test(request.url())) asked.push(request.url());
    });
    await page.goto(pathToFileURL(file).href);
    await body(page);
    assert.deepEqual(asked, [], "nothing is asked of the network");
    assert.deepEqual(faults, []);
    await context.close();
  };

  test("shows the run that stands in it, and connects to nothing", async () => {
    const run = train(new MadeRun("llama-1b", { state: "failed", standing: "failed" }), 222);
    run.report = nan_report(210);
    run.marks = nan_marks(210);
    await opened(run, async (page) => {
      await page.getByRole("heading", { level: 1, name: /Half precision overflowed/ }).waitFor();
      await page.getByRole("slider", { name: /^Loss over steps.*at step 222/ }).waitFor();
      await page.getByText("this page loads nothing and sends nothing").waitFor();
      assert.equal(await page.getByRole("button", { name: "Stop", exact: true }).count(), 0);
      await page.getByRole("button", { name: "Zoom in" }).click();
      await page.getByRole("button", { name: /^Theme/ }).click();
      await picture(page, "report-light");
    });
  });

  test("a hostile run stays data", async () => {
    await opened(hostile_run(), async (page) => {
      await page.locator(".log li").last().waitFor();
      assert.equal(await page.evaluate(() => /** @type {any} */ (window).hacked), undefined);
      assert.equal(await page.locator("main img, main svg, main script").count(), 0);
    });
  });
});
