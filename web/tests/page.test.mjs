// The page in a real browser, against the stand-in.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, describe, test } from "node:test";
import { has_browser, open_browser, open_page, picture, until } from "./browser.mjs";
import {
  breaking_step,
  healthy_report,
  hostile_run,
  line_of,
  nan_marks,
  nan_report,
  noise_of,
  sound_step,
  train,
} from "./made.mjs";
import { MadeRun, StandIn } from "./stand_in.mjs";

const axe_source = readFileSync(
  createRequire(import.meta.url).resolve("axe-core/axe.min.js"),
  "utf8",
);

/** @param {import("playwright-core").Page} page */
const violations_of = async (page) => {
  // As an own world would: the page's policy keeps scripts out of its own.
  await page.evaluate(axe_source);
  const found = await page.evaluate(async () => {
    // @ts-expect-error axe is what the line above brought
    const result = await axe.run(document, { resultTypes: ["violations"] });
    return result.violations.map(
      (/** @type {any} */ each) =>
        `${each.id}: ${each.nodes
          .map((/** @type {any} */ n) => n.html)
          .slice(0, 2)
          .join(" | ")}`,
    );
  });
  return found;
};

describe("the live page", { skip: has_browser ? false : "no chromium" }, () => {
  /** @type {import("playwright-core").Browser} */
  let browser;
  before(async () => {
    browser = await open_browser();
  });
  after(async () => {
    await browser.close();
  });

  /**
   * @param {(at: {server: StandIn, page: import("playwright-core").Page, faults: string[], context: import("playwright-core").BrowserContext}) => Promise<void>} body
   * @param {{runs?: MadeRun[], can_stop?: boolean, context?: import("playwright-core").BrowserContextOptions}} [options]
   */
  const watched = async (body, options = {}) => {
    const server = await new StandIn({ can_stop: options.can_stop ?? false }).start();
    for (const run of options.runs ?? []) server.add(run);
    const { page, context, faults } = await open_page(browser, options.context);
    try {
      await page.goto(server.url);
      await body({ server, page, faults, context });
      assert.deepEqual(faults, [], "the page did nothing that it must not");
    } finally {
      await context.close();
      await server.kill();
    }
  };
  const sound_run = (id = "llama-1b", steps = 150) => {
    const run = train(new MadeRun(id), steps);
    run.report = healthy_report(steps);
    Object.assign(run.summary, {
      standing: "healthy",
      headline: run.report.summary.headline,
      fix: run.report.summary.first_action,
    });
    return run;
  };

  test("a run that goes wrong while it is watched: the cause, the first fix, the range on the chart", async () => {
    const run = sound_run("llama-1b", 150);
    run.ranks = [0, 1, 2, 3].map((rank) => ({
      rank,
      step: 150,
      last_at: Date.now() / 1000,
      behind: 0,
    }));
    await watched(
      async ({ server, page }) => {
        await page.getByText("Healthy", { exact: true }).waitFor();
        const noise = noise_of(7);
        for (let step = 151; step <= 222; ++step) {
          const values = breaking_step(step, 210, noise);
          server.step(run, step, values);
          server.say(run, line_of(step, values), step === 210);
        }
        server.judge(
          run,
          nan_report(210),
          {
            standing: "failed",
            headline: "loss is NaN from step 210 on",
            fix: "Train in bfloat16",
          },
          nan_marks(210),
        );
        await page.getByRole("heading", { level: 1, name: /Half precision overflowed/ }).waitFor();
        await page.getByText("TrainingArguments(..., bf16=True, fp16=False)").waitFor();
        assert.match(await page.title(), /^Failed · llama-1b/);
        assert.match(
          (await page.locator("p[role=status]").first().textContent()) ?? "",
          /Failed: Half precision.*Train in bfloat16/,
        );
        const loss = page.getByRole("slider", { name: /^Loss over steps/ });
        const summary = (await loss.getAttribute("aria-label")) ?? "";
        assert.match(summary, /not finite from step 210/);
        assert.match(summary, /failure: loss is NaN from step 210 on/);
        // The range is on the canvas: what lies above the last steps is redder than what lies above the first ones.
        const redness = await loss
          .locator("canvas")
          .evaluate((/** @type {HTMLCanvasElement} */ canvas) => {
            const pixels = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
            const red_at = (/** @type {number} */ part) => {
              const [r = 0, g = 0, , a = 0] = pixels.getImageData(
                Math.round(canvas.width * part),
                Math.round(canvas.height * 0.5),
                1,
                1,
              ).data;
              return a > 0 ? r - g : 0;
            };
            return [red_at(0.3), red_at(0.975)];
          });
        assert.ok((redness[1] ?? 0) > (redness[0] ?? 0) + 20, `red ${redness}`);
        assert.equal(await page.locator(".log li.evidence").count(), 1);
        const box = await loss.locator(".u-over").boundingBox();
        assert.ok(box);
        await page.mouse.move(box.x + (box.width * 208) / 221, box.y + 40);
        await page.mouse.move(box.x + (box.width * 209.2) / 221, box.y + 40);
        await until(
          async () =>
            /^step 210, NaN.*, loss is NaN from step 210 on/.test(
              (await loss.getAttribute("aria-valuetext")) ?? "",
            ),
          "the cursor reads the value and what is marked there",
        );
        await page.mouse.move(5, 5);
        await page.getByText("Other causes considered").waitFor();
        await page.getByText("against it: 3e-4 is usual for a model of this size").waitFor();
        await page.getByText("the device holds 80 GiB").waitFor();
        await picture(page, "nan-light");
      },
      { runs: [run] },
    );
  });

  test("the first fix is copied as it stands", async () => {
    const run = train(new MadeRun("llama-1b", { standing: "failed" }), 222);
    run.report = nan_report(210);
    await watched(
      async ({ page }) => {
        await page.getByRole("button", { name: "Copy the first fix" }).first().click();
        await page.getByText("Copied").waitFor();
        assert.equal(
          await page.evaluate(() => navigator.clipboard.readText()),
          "TrainingArguments(..., bf16=True, fp16=False)",
        );
        await page.getByLabel("In the words of").first().selectOption("generic");
        await page.locator(".hero pre", { hasText: "precision.compute: bf16" }).waitFor();
      },
      { runs: [run], context: { permissions: ["clipboard-read", "clipboard-write"] } },
    );
  });

  test("a hang is said, with the time since the last step", async () => {
    const run = sound_run();
    run.ranks = [0, 1, 2, 3].map((rank) => ({
      rank,
      step: rank === 2 ? 140 : 150,
      last_at: Date.now() / 1000,
      behind: rank === 2 ? 10 : 0,
    }));
    await watched(
      async ({ server, page }) => {
        await page.getByText("Last step", { exact: true }).waitFor();
        run.summary.state = "silent";
        run.summary.last_step_at = Date.now() / 1000 - 14 * 60;
        server.tell("runs", { runs: [run.summary] });
        await page.getByText("No step for").waitFor();
        assert.match((await page.locator(".fact.alarm").textContent()) ?? "", /No step for14 min/);
        await page.getByRole("heading", { level: 1, name: /stands still/ }).waitFor();
        await page.getByText("1 of 4 lag, rank 2 by 10 steps.").waitFor();
        assert.match(
          (await page.locator("p[role=status]").first().textContent()) ?? "",
          /No steps are coming/,
        );
        assert.equal(
          await page.getByText("Left", { exact: true }).count(),
          0,
          "a run that stands has no time left",
        );
        assert.equal(await page.getByText("Rate", { exact: true }).count(), 0, "and no rate");
      },
      { runs: [run] },
    );
  });

  test("what it cost so far, who lags since when, and restarts, checkpoints and acts of the guard on the charts", async () => {
    const run = sound_run();
    run.ranks = [0, 1, 2].map((rank) => ({
      rank,
      step: rank === 1 ? 120 : 150,
      last_at: Date.now() / 1000 - (rank === 1 ? 14 * 60 : 1),
      behind: rank === 1 ? 30 : 0,
    }));
    run.marks = ["restart", "checkpoint", "guard"].map((kind, index) => ({
      kind: /** @type {import("../src/contract").MarkKind} */ (kind),
      series: null,
      from: 60 + 20 * index,
      to: 60 + 20 * index,
      label: `the ${kind} here`,
      severity: "info",
    }));
    await watched(
      async ({ page }) => {
        const cost = page.locator(".fact", { hasText: "Cost so far" });
        await cost.waitFor();
        assert.match((await cost.textContent()) ?? "", /1\.31 EUR 7\.60 an hour/);
        await page.getByText("1 of 3 lag, rank 1 by 30 steps.").waitFor();
        assert.match((await page.locator("tr.lags").textContent()) ?? "", /14 min ago/);
        const legend = page.getByLabel("What the marks mean");
        assert.equal(
          (await legend.locator("li").allTextContents()).join(", "),
          "act of the guard, checkpoint, restart",
        );
      },
      { runs: [run] },
    );
  });

  test("a run that ended says so, and never that it runs", async () => {
    const run = sound_run();
    Object.assign(run.summary, { state: "ended", last_step_at: Date.now() / 1000 - 3 * 86400 });
    await watched(
      async ({ page }) => {
        const facts = page.locator(".facts");
        await facts.getByText("Ended").waitFor();
        assert.match((await facts.textContent()) ?? "", /3 d ago/);
      },
      { runs: [run] },
    );
  });

  test("files that were old when they were found: neither healthy nor going on", async () => {
    const run = sound_run();
    Object.assign(run.summary, { state: "unknown", last_step_at: Date.now() / 1000 - 9 * 86400 });
    await watched(
      async ({ page }) => {
        await page
          .getByRole("heading", { level: 1, name: /Nobody writes it any more, and no end/ })
          .waitFor();
        await page.getByText("At rest", { exact: true }).first().waitFor();
        assert.equal(await page.getByText("Go on: nothing needs to change").count(), 0);
      },
      { runs: [run] },
    );
  });

  test("steps that are done again after a restart stay in order, and the restart is marked", async () => {
    const run = sound_run("llama-1b", 150);
    await watched(
      async ({ server, page }) => {
        await page.getByText("Healthy", { exact: true }).waitFor();
        const noise = noise_of(3);
        for (let step = 101; step <= 160; ++step) server.step(run, step, sound_step(step, noise));
        server.tell("marks", {
          run: run.id,
          marks: nan_marks(400).filter(
            (mark) => mark.kind === "restart" || mark.kind === "checkpoint",
          ),
        });
        await page.getByText("What is marked on the charts (3)").click();
        await page.getByText("resumed from checkpoint-100").waitFor();
        const chart = page.getByRole("slider", { name: /^Loss over steps/ });
        await until(
          async () => (await chart.getAttribute("aria-valuemax")) === "160",
          "the chart reaches step 160",
        );
        await page.getByText("Loss in words").click();
        const steps = await page
          .locator(".as-table[open] tbody tr td:first-child")
          .allTextContents();
        const numbers = steps.map(Number);
        assert.ok(numbers.length >= 10);
        assert.deepEqual(
          numbers,
          [...numbers].sort((a, b) => a - b),
        );
      },
      { runs: [run] },
    );
  });

  test("a second run appears, is compared, and the step where they part is told", async () => {
    const run = sound_run("seed-1", 200);
    await watched(
      async ({ server, page }) => {
        await page.getByText("Healthy", { exact: true }).waitFor();
        const other = new MadeRun("seed-2", { started_at: Date.now() / 1000 - 10, state: "ended" });
        const noise = noise_of(7);
        for (let step = 1; step <= 200; ++step) {
          const values = sound_step(step, noise);
          if (step > 120) values.loss = ["loss", (values.loss?.[1] ?? 0) + 0.02 * (step - 120)];
          for (const [name, [role, value, unit]] of Object.entries(values))
            other.put(name, role, step, value, unit);
        }
        server.add(other);
        await page.getByRole("navigation", { name: "Runs" }).getByText("seed-2").waitFor();
        await page.getByLabel("Draw beneath").selectOption("seed-2");
        const told = page.getByText(/they part at step/);
        await told.waitFor();
        const step = Number(/step (\d+)/.exec((await told.textContent()) ?? "")?.[1]);
        assert.ok(step >= 118 && step <= 126, `part at ${step}`);
        await page.locator(".legend").getByText("seed-2").waitFor();
        await picture(page, "compare-light");
      },
      { runs: [run] },
    );
  });

  test("two runs with equal curves do not part", async () => {
    const one = sound_run("one", 200);
    const two = sound_run("two", 200);
    two.summary.started_at = 0;
    await watched(
      async ({ page }) => {
        await page.getByLabel("Draw beneath").selectOption("two");
        await page.getByText("no place where they part").waitFor();
      },
      { runs: [one, two] },
    );
  });

  test("the program is killed and started again: told, then taken up where it stopped", async () => {
    const run = sound_run("llama-1b", 150);
    await watched(
      async ({ server, page }) => {
        await page.getByText("live", { exact: true }).waitFor();
        server.step(run, 151, sound_step(151, noise_of(1)));
        await page.locator(".fact.steps", { hasText: "151" }).waitFor();
        await server.kill();
        await page.getByText("No connection to aplomb").waitFor();
        // What happens meanwhile is in the buffer of the one that comes back.
        const noise = noise_of(2);
        for (let step = 152; step <= 170; ++step) server.step(run, step, sound_step(step, noise));
        await server.start();
        await page.getByText("live", { exact: true }).waitFor();
        await page.locator(".fact.steps", { hasText: "170" }).waitFor();
        assert.equal(await page.getByText("No connection to aplomb").count(), 0);
        const chart = page.getByRole("slider", { name: /^Loss over steps/ });
        await until(
          async () => (await chart.getAttribute("aria-valuemax")) === "170",
          "the chart reaches step 170",
        );
      },
      { runs: [run] },
    );
  });

  test("where the server no longer knows what was missed, all is fetched anew", async () => {
    const run = sound_run("llama-1b", 150);
    await watched(
      async ({ server, page }) => {
        await page.getByText("live", { exact: true }).waitFor();
        server.step(run, 151, sound_step(151, noise_of(1)));
        await page.locator(".fact.steps", { hasText: "151" }).waitFor();
        const asked = server.asked.length;
        server.tell("reset", {});
        const noise = noise_of(2);
        for (let step = 152; step <= 180; ++step)
          for (const [name, [role, value]] of Object.entries(sound_step(step, noise)))
            run.put(name, role, step, value);
        server.tell("reset", {});
        await page.locator(".fact.steps", { hasText: "180" }).waitFor();
        assert.ok(server.asked.slice(asked).includes("/api/runs"));
      },
      { runs: [run] },
    );
  });

  test("the program is started again and remembers nothing of before: all is fetched anew", async () => {
    const run = sound_run("llama-1b", 150);
    await watched(
      async ({ server, page }) => {
        await page.getByText("live", { exact: true }).waitFor();
        server.step(run, 151, sound_step(151, noise_of(1)));
        await page.locator(".fact.steps", { hasText: "151" }).waitFor();
        await server.kill(true);
        await page.getByText("No connection to aplomb").waitFor();
        const noise = noise_of(2);
        for (let step = 152; step <= 190; ++step) {
          for (const [name, [role, value]] of Object.entries(sound_step(step, noise)))
            run.put(name, role, step, value);
        }
        server.next_id += 1000;
        await server.start();
        await page.locator(".fact.steps", { hasText: "190" }).waitFor();
        const chart = page.getByRole("slider", { name: /^Loss over steps/ });
        await until(
          async () => (await chart.getAttribute("aria-valuemax")) === "190",
          "the chart reaches step 190",
        );
        await page.getByText("live", { exact: true }).waitFor();
      },
      { runs: [run] },
    );
  });

  test("answers with parts missing or of a wrong shape leave the rest of the page standing", async () => {
    const odd = sound_run("odd", 60);
    odd.report = /** @type {any} */ ({
      causes: [{ title: 7, probability: "x" }],
      symptoms: [null, {}],
      ruled_out: 3,
    });
    odd.summary.standing = "failed";
    odd.summary.headline = "something is wrong";
    odd.marks = /** @type {any} */ ([{}, { kind: "symptom" }, { kind: 5, label: 5 }]);
    odd.ranks = /** @type {any} */ ([{}, {}, null]);
    odd.memory = /** @type {any} */ ("much");
    await watched(
      async ({ server, page }) => {
        await page.locator('[data-chart="loss"] canvas').waitFor();
        await page.locator(".fact.steps", { hasText: "60" }).waitFor();
        await page.locator(".log li").first().waitFor();
        // And it comes back as soon as what comes is whole.
        server.judge(odd, nan_report(50), { headline: "loss is NaN" }, nan_marks(50));
        odd.ranks = [];
        await page.getByRole("heading", { level: 1, name: /Half precision/ }).waitFor();
      },
      { runs: [odd] },
    );
  });

  test("a loss that climbs over three hundred decades: its line rises, and its axis has numbers", async () => {
    const run = new MadeRun("blown-up");
    for (let step = 1; step <= 100; ++step) {
      const value = step < 50 ? 0.2 : Math.min(10 ** ((step - 50) * 6.2), 1.22e306);
      run.put("loss", "loss", step, value);
    }
    Object.assign(run.summary, {
      standing: "failed",
      headline: "loss jumps 0.2 -> 1e9 at step 51",
    });
    await watched(
      async ({ page }) => {
        await page.locator('[data-chart="loss"] canvas').waitFor();
        await page.getByText("loss jumps 0.2 → 1e9").first().waitFor();
        // How much is drawn where the axis has its numbers, and where the line is at its last steps.
        const drawn = () =>
          page
            .locator('[data-chart="loss"] canvas')
            .evaluate((/** @type {HTMLCanvasElement} */ canvas) => {
              const pixels = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
              const inked = (/** @type {number[]} */ [x = 0, y = 0, width = 0, height = 0]) => {
                const { data } = pixels.getImageData(x, y, Math.ceil(width), Math.ceil(height));
                let count = 0;
                for (let i = 3; i < data.length; i += 4) if ((data[i] ?? 0) > 128) ++count;
                return count;
              };
              const { width, height } = canvas;
              return [
                inked([0, 0, 50, height * 0.45]),
                inked([width * 0.85, 0, width * 0.1, height * 0.5]),
              ];
            });
        await until(async () => (await drawn()).every((each) => each > 30), "numbers and a line");
        await picture(page, "decades");
        // And plainly: numbers that are too large for the ticks of uPlot.
        await page.locator('[data-chart="loss"]').getByRole("button", { name: "log" }).click();
        await until(async () => (await drawn()).every((each) => each > 30), "plain, too");
        await picture(page, "decades-plain");
      },
      { runs: [run] },
    );
  });

  test("a run of 300 series draws them as they are asked for", async () => {
    const run = sound_run("many", 20);
    for (let name = 0; name < 300; ++name)
      for (let step = 1; step <= 20; ++step) run.put(`layers.${name}/norm`, "other", step, step);
    await watched(
      async ({ page }) => {
        await page.getByText("More series (300)").click();
        await until(async () => (await page.locator(".chart").count()) === 5 + 12, "twelve more");
        await page.getByRole("button", { name: "Show 12 more" }).click();
        await until(
          async () => (await page.locator(".chart").count()) === 5 + 24,
          "and twelve more",
        );
      },
      { runs: [run] },
    );
  });

  test("a server with another token is told as such", async () => {
    await watched(
      async ({ server, page }) => {
        await page.getByText("live", { exact: true }).waitFor();
        await server.kill();
        server.token = "f".repeat(32);
        await server.start();
        await page.getByText("This page may no longer ask.").waitFor({ timeout: 15000 });
      },
      { runs: [sound_run()] },
    );
  });

  test("hostile texts are shown as texts, and nothing of them happens", async () => {
    const run = hostile_run();
    await watched(
      async ({ server, page }) => {
        await page.locator(".log li").last().waitFor();
        for (const line of run.log.slice(-9)) server.say(run, `${line.text} again`);
        await until(
          async () =>
            ((await page.locator(".log li").last().textContent()) ?? "").includes("again"),
          "the lines arrive",
        );
        const log = (await page.locator(".log").textContent()) ?? "";
        assert.ok(log.includes("<script>window.hacked = 1</script>"));
        assert.ok(log.includes("<U+202E>.dekcah"), "what turns a line around is written out");
        assert.ok(
          // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there.
          !/[\u202e\u200b\u001b\u0007]/.test(await page.locator("body").innerText()),
          "no such character is on the page",
        );
        assert.ok(log.includes("298,003 more characters"), "a line of 300,000 is cut");
        assert.equal(
          await page.locator("[data-chart^=series] canvas").count(),
          1,
          "the series of the hostile name is drawn",
        );
        assert.equal(await page.evaluate(() => /** @type {any} */ (window).hacked), undefined);
        assert.equal(await page.locator("main img, main svg, main script, main iframe").count(), 0);
        const links = await page
          .locator("main a")
          .evaluateAll((all) => all.map((each) => each.getAttribute("href")));
        assert.deepEqual(
          links.filter((href) => !/^(#|https:)/.test(href ?? "")),
          [],
        );
        const wide = await page.evaluate(
          () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
        );
        assert.ok(wide <= 0, `the page is ${wide} px too wide`);
      },
      { runs: [run] },
    );
  });

  test("a zoom fetches finer buckets, and the spike that was in one is found at its step", async () => {
    const run = new MadeRun("long", { standing: "healthy", total_steps: 100000 });
    const noise = noise_of(5);
    for (let step = 1; step <= 60000; ++step)
      run.put("loss", "loss", step, step === 43210 ? 99 : 2 + 0.1 * noise());
    await watched(
      async ({ server, page }) => {
        const chart = page.getByRole("slider", { name: /^Loss over steps/ });
        await chart.waitFor();
        await until(
          async () => /and 99\./.test(`${await chart.getAttribute("aria-label")}`),
          "the spike survives the overview",
        );
        const box = await chart.locator(".u-over").boundingBox();
        assert.ok(box);
        await page.mouse.move(box.x + box.width * 0.7, box.y + 50);
        await page.mouse.down();
        await page.mouse.move(box.x + box.width * 0.74, box.y + 50, { steps: 5 });
        await page.mouse.up();
        await page.getByText(/^steps 4\d,\d{3}–4\d,\d{3}$/).waitFor();
        await until(
          () =>
            server.asked.some((path) => path.includes("/series/loss?") && path.includes("from=4")),
          "finer buckets are asked for",
        );
        await page.getByRole("button", { name: "Zoom in" }).click();
        await page.getByRole("button", { name: "All", exact: true }).click();
        await page.locator(".heading .tools", { hasText: "all steps" }).waitFor();
      },
      { runs: [run] },
    );
  });

  test("everything goes by keyboard", async () => {
    const one = sound_run("one", 150);
    const two = sound_run("two", 150);
    two.summary.started_at = 0;
    await watched(
      async ({ page }) => {
        await page.getByText("Healthy", { exact: true }).first().waitFor();
        await page.keyboard.press("?");
        await page.getByRole("dialog", { name: "Keys" }).waitFor();
        await page.keyboard.press("Escape");
        await until(
          async () => (await page.locator("dialog[open]").count()) === 0,
          "Escape closes the help",
        );
        await page.keyboard.press("j");
        await page.locator(".run[aria-current]", { hasText: "two" }).waitFor();
        await page.keyboard.press("/");
        await until(
          () => page.evaluate(() => document.activeElement?.id === "search"),
          "/ goes to the search",
        );
        await page.keyboard.type("one");
        await page.keyboard.press("Enter");
        await page.locator(".run[aria-current]", { hasText: "one" }).waitFor();
        const chart = page.getByRole("slider", { name: /^Loss over steps/ });
        await chart.focus();
        await page.keyboard.press("Home");
        await until(
          async () => (await chart.getAttribute("aria-valuenow")) === "1",
          "Home goes to the first step",
        );
        await page.keyboard.press("ArrowRight");
        await until(
          async () => /^step 2, /.test((await chart.getAttribute("aria-valuetext")) ?? ""),
          "an arrow reads the next value",
        );
        await page.keyboard.press("+");
        await page
          .getByText(/^steps \d+–\d+$/)
          .first()
          .waitFor();
        await page.keyboard.press("0");
        await page.locator(".heading .tools", { hasText: "all steps" }).waitFor();
        await page.keyboard.press("t");
        await until(
          async () =>
            (await page.locator("#theme").textContent()) === "light" &&
            (await page.locator("html").getAttribute("data-theme")) === "light",
          "t changes the theme",
        );
        await page.keyboard.press("f");
        await until(
          () => page.evaluate(() => document.activeElement?.id === "filter"),
          "f goes to the filter",
        );
        await page.keyboard.type("step 140/");
        await until(
          async () => (await page.locator(".log li").count()) === 1,
          "the filter holds one line",
        );
      },
      { runs: [one, two] },
    );
  });

  test("a logarithmic scale is at hand and can be taken back", async () => {
    await watched(
      async ({ page }) => {
        const scale = page.getByRole("button", { name: "log scale of Loss" });
        for (const pressed of ["false", "true", "false"]) {
          await scale.waitFor();
          assert.equal(await scale.getAttribute("aria-pressed"), pressed);
          await page.locator('[data-chart="loss"] canvas').waitFor();
          await scale.click();
        }
      },
      { runs: [sound_run()] },
    );
  });

  test("Stop is shown only where it is allowed, and asks before it acts", async () => {
    await watched(
      async ({ page }) => {
        await page.getByText("Healthy", { exact: true }).waitFor();
        assert.equal(await page.getByRole("button", { name: "Stop", exact: true }).count(), 0);
      },
      { runs: [sound_run()] },
    );
    await watched(
      async ({ server, page }) => {
        await page.getByRole("button", { name: "Stop", exact: true }).click();
        await page.keyboard.press("Enter");
        await until(
          async () => (await page.locator("dialog[open]").count()) === 0,
          "Enter lets it run",
        );
        assert.deepEqual(server.stopped, []);
        await page.getByRole("button", { name: "Stop", exact: true }).click();
        await page.getByRole("button", { name: "Stop the run" }).click();
        await page.locator(".facts").getByText("Stopped").waitFor();
        assert.deepEqual(server.stopped, ["llama-1b"]);
      },
      { runs: [sound_run()], can_stop: true },
    );
  });

  test("200 runs are listed, those that need eyes first, and searched", async () => {
    const runs = Array.from({ length: 200 }, (_, i) => {
      const run = new MadeRun(`sweep-${String(i).padStart(3, "0")}`, {
        state: i === 137 ? "silent" : "ended",
        standing: i % 9 === 0 ? "failed" : "healthy",
        headline: i % 9 === 0 ? "The learning rate is too high" : "The run learns",
        started_at: 1_700_000_000 + i,
        step: 400,
      });
      run.put("loss", "loss", 1, 2);
      run.put("loss", "loss", 2, 1);
      return run;
    });
    await watched(
      async ({ server, page }) => {
        const list = page.getByRole("navigation", { name: "Runs" });
        await until(async () => (await list.getByRole("listitem").count()) === 200, "200 rows");
        assert.match((await list.getByRole("listitem").first().textContent()) ?? "", /sweep-137/);
        await page.getByLabel("Search the runs").fill("learning rate");
        await until(async () => (await list.getByRole("listitem").count()) === 23, "23 of them");
        await page.getByLabel("Search the runs").fill("sweep-009");
        await page.keyboard.press("Enter");
        await page.locator(".top .run", { hasText: "sweep-009" }).waitFor();
        const run = server.runs.get("sweep-010");
        if (run) server.tell("runs", [Object.assign(run.summary, { standing: "unstable" })]);
        await page.getByLabel("Search the runs").fill("unstable");
        await until(
          async () => (await list.getByRole("listitem").count()) === 1,
          "what changed is found",
        );
        await page.getByLabel("Search the runs").fill("");
        await picture(page, "runs-light", false);
      },
      { runs },
    );
  });

  test("no run yet, then the first one", async () => {
    await watched(async ({ server, page }) => {
      await page.getByRole("heading", { name: "No run yet" }).waitFor();
      server.add(sound_run("first"));
      await page.locator(".top .run", { hasText: "first" }).waitFor();
    });
  });

  for (const [name, context] of /** @type {const} */ ([
    ["light", { colorScheme: "light" }],
    ["dark", { colorScheme: "dark" }],
    [
      "phone",
      {
        viewport: { width: 390, height: 844 },
        deviceScaleFactor: 2,
        isMobile: true,
        hasTouch: true,
      },
    ],
    [
      "phone-dark",
      { viewport: { width: 360, height: 740 }, colorScheme: "dark", reducedMotion: "reduce" },
    ],
  ])) {
    test(`axe finds nothing, and nothing is wider than the page: ${name}`, async () => {
      const run = train(new MadeRun("llama-1b-fineweb-20b", { standing: "failed" }), 196);
      const noise = noise_of(9);
      for (let step = 197; step <= 222; ++step) {
        const values = breaking_step(step, 210, noise);
        for (const [series, [role, value, unit]] of Object.entries(values))
          run.put(series, role, step, value, unit);
        run.say(line_of(step, values), step === 210);
      }
      for (let step = 20; step <= 200; step += 20)
        run.put("eval_loss", "eval_loss", step, 2.4 + 7.5 * Math.exp(-step / 45));
      for (let step = 1; step <= 222; ++step)
        run.put("entropy", "entropy", step, 3 / Math.sqrt(step));
      run.report = nan_report(210);
      run.marks = nan_marks(210);
      run.ranks = Array.from({ length: 8 }, (_, rank) => ({
        rank,
        step: rank === 5 ? 219 : 222,
        last_at: Date.now() / 1000 - 4,
        behind: rank === 5 ? 3 : 0,
      }));
      Object.assign(run.summary, {
        headline: "loss is NaN from step 210 on",
        fix: "Train in bfloat16",
      });
      await watched(
        async ({ page }) => {
          await page.getByRole("heading", { level: 1, name: /Half precision/ }).waitFor();
          await page.locator('[data-chart="loss"] canvas').waitFor();
          assert.deepEqual(await violations_of(page), []);
          const wide = await page.evaluate(
            () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
          );
          assert.ok(wide <= 0, `the page is ${wide} px too wide`);
          await picture(page, `page-${name}`);
          for (const each of await page.locator("details > summary").all()) await each.click();
          await page.keyboard.press("?");
          assert.deepEqual(await violations_of(page), []);
          await page.keyboard.press("Escape");
          const theme = () => page.locator("html").getAttribute("data-theme");
          const [here, other] =
            context.colorScheme === "dark" ? ["dark", "light"] : ["light", "dark"];
          assert.equal(await theme(), here);
          await page.emulateMedia({ colorScheme: /** @type {"dark" | "light"} */ (other) });
          await until(async () => (await theme()) === other, "the theme follows the system");
        },
        { runs: [run, sound_run("llama-1b-baseline")], can_stop: true, context },
      );
    });
  }
});
