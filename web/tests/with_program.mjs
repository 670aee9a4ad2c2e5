// The program itself and this page, over real logs that grow: web/check.sh program. APLOMB names the program; without it
// build/dev/aplomb is taken, and without that these are skipped.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { has_browser, open_browser, open_page, picture, until } from "./browser.mjs";

const program = process.env.APLOMB ?? new URL("../../build/dev/aplomb", import.meta.url).pathname;
const why_not = !existsSync(program)
  ? "no program: set APLOMB"
  : !has_browser
    ? "no chromium"
    : false;
const k_patience_ms = 20000;

/** A step as the Hugging Face Trainer prints it. @param {number} step @param {string | number} loss @param {string | number} norm */
const line = (step, loss, norm, rate = 2e-5) =>
  `{'loss': ${loss}, 'grad_norm': ${norm}, 'learning_rate': ${rate}, 'step': ${step}}\n`;
/** @param {number} step */
const sound = (step) =>
  line(
    step,
    (0.4 + 2.2 * Math.exp(-step / 60) + 0.02 * Math.sin(step * 12.9898)).toFixed(4),
    (1 + 0.1 * Math.sin(step * 78.233)).toFixed(4),
  );

/** The program in the background, and the address that it prints. @param {string[]} words @param {string} folder */
const start = async (words, folder) => {
  const child = spawn(program, words, { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (/** @type {Buffer} */ part) => {
      said += part;
    });
  const ended = new Promise((resolve) => child.on("exit", (code) => resolve(code)));
  await until(() => /http:\S+token=\w+\n/.test(said), `an address in ${said}`, k_patience_ms);
  return { child, ended, url: /http:\S+/.exec(said)?.[0] ?? "", said: () => said };
};

const free_port = async () => {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(null)));
  const port = /** @type {import("node:net").AddressInfo} */ (server.address()).port;
  await new Promise((resolve) => server.close(() => resolve(null)));
  return port;
};

describe("the program and its page", { skip: why_not }, () => {
  /** @type {import("playwright-core").Browser} */
  let browser;
  /** @type {string} */
  let folder;
  before(async () => {
    browser = await open_browser();
    folder = mkdtempSync(join(tmpdir(), "aplomb-live-"));
  });
  after(async () => {
    await browser?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** @param {import("playwright-core").Page} page @param {RegExp} words */
  const shows = (page, words) =>
    until(
      async () => words.test(await page.locator("body").innerText()),
      `${words} on the page`,
      k_patience_ms,
    );

  test("a log that goes wrong while it is watched: the cause appears, and the lines that show it", async () => {
    const log = join(folder, "train.log");
    for (let step = 1; step <= 120; ++step) appendFileSync(log, sound(step));
    const live = await start(["live", folder], folder);
    const { page, context, faults } = await open_page(browser);
    try {
      await page.goto(live.url);
      assert.doesNotMatch(page.url(), /token/);
      await shows(page, /learns/);
      for (let step = 121; step <= 160; ++step) appendFileSync(log, sound(step));
      await shows(page, /\b160\b/);
      for (let step = 161; step <= 175; ++step) appendFileSync(log, line(step, "nan", "nan"));
      await shows(page, /nan at step 161/);
      await shows(page, /'loss': nan.*'step': 161/);
      await picture(page, "program-nan");
      assert.deepEqual(faults, []);
    } finally {
      await context.close();
      live.child.kill("SIGTERM");
      assert.equal(await live.ended, 0);
    }
  });

  test("the program is killed and started again: said, and taken up when its new address was opened", async () => {
    const log = join(folder, "again.log");
    for (let step = 1; step <= 60; ++step) appendFileSync(log, sound(step));
    const port = String(await free_port());
    let live = await start(["live", log, "--port", port], folder);
    const { page, context, faults } = await open_page(browser);
    try {
      await page.goto(live.url);
      await shows(page, /learns/);
      live.child.kill("SIGKILL");
      await live.ended;
      await shows(page, /connection/i);
      for (let step = 61; step <= 90; ++step) appendFileSync(log, sound(step));
      live = await start(["live", log, "--port", port], folder);
      await shows(page, /token/);
      const second = await context.newPage();
      await second.goto(live.url);
      await shows(second, /\b90\b/);
      await page.bringToFront();
      await shows(page, /\b90\b/);
      for (let step = 91; step <= 95; ++step) appendFileSync(log, sound(step));
      await shows(page, /\b95\b/);
      assert.deepEqual(faults, []);
    } finally {
      await context.close();
      live.child.kill("SIGTERM");
      await live.ended;
    }
  });

  test("a run's page is saved as it stands, and opens from a file without asking anybody", async () => {
    const log = join(folder, "saved.log");
    for (let step = 1; step <= 60; ++step) appendFileSync(log, sound(step));
    for (let step = 61; step <= 75; ++step) appendFileSync(log, line(step, "nan", "nan"));
    const file = join(folder, "saved.html");
    const done = spawnSync(program, ["live", "--save", file, log], { encoding: "utf8" });
    assert.equal(done.status, 0, done.stderr);
    const { page, context, faults } = await open_page(browser);
    try {
      /** @type {string[]} */
      const asked = [];
      page.on("request", (request) => {
        if (!/^(file|data|blob):/.test(request.url())) asked.push(request.url());
      });
      await page.goto(pathToFileURL(file).href);
      await shows(page, /nan at step 61/);
      await page.getByRole("slider", { name: /^Loss over steps/ }).waitFor();
      assert.equal(await page.getByRole("button", { name: "Stop", exact: true }).count(), 0);
      await picture(page, "program-saved");
      assert.deepEqual(asked, []);
      assert.deepEqual(faults, []);
    } finally {
      await context.close();
    }
  });

  test("a run that hangs: it is said, and that it goes on again", async () => {
    const log = join(folder, "hang/train.log");
    mkdirSync(join(folder, "hang"));
    for (let step = 1; step <= 60; ++step) appendFileSync(log, sound(step));
    const live = await start(["live", join(folder, "hang"), "--silent-after", "3"], folder);
    const { page, context, faults } = await open_page(browser);
    try {
      await page.goto(live.url);
      await shows(page, /learns/);
      for (let step = 61; step <= 70; ++step) {
        appendFileSync(log, sound(step));
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      await shows(page, /\b70\b/);
      await shows(page, /No step for/);
      await page.getByRole("heading", { level: 1, name: /stands still/ }).waitFor();
      await picture(page, "program-hang");
      for (let step = 71; step <= 75; ++step) appendFileSync(log, sound(step));
      await shows(page, /Last step/);
      await shows(page, /\b75\b/);
      assert.deepEqual(faults, []);
    } finally {
      await context.close();
      live.child.kill("SIGTERM");
      await live.ended;
    }
  });

  test("a run that is started again into the same log: its steps go back, and the restart is marked", async () => {
    const log = join(folder, "restart/train.log");
    mkdirSync(join(folder, "restart"));
    for (let step = 1; step <= 120; ++step) appendFileSync(log, sound(step));
    const live = await start(
      ["live", join(folder, "restart"), "--price-per-hour", "7.60 EUR"],
      folder,
    );
    const { page, context, faults } = await open_page(browser);
    try {
      await page.goto(live.url);
      await shows(page, /\b120\b/);
      await shows(page, /Cost so far\s+0\.0\d EUR/i);
      for (let step = 101; step <= 140; ++step) appendFileSync(log, sound(step));
      await shows(page, /\b140\b/);
      const legend = page.getByLabel("What the marks mean");
      await legend.getByText("restart").waitFor({ timeout: k_patience_ms });
      await picture(page, "program-restart");
      assert.deepEqual(faults, []);
    } finally {
      await context.close();
      live.child.kill("SIGTERM");
      await live.ended;
    }
  });

  test("a second run appears while the first is watched, and is drawn beneath it", async () => {
    const runs = join(folder, "runs");
    for (const name of ["a", "b"]) mkdirSync(join(runs, name), { recursive: true });
    for (let step = 1; step <= 80; ++step) appendFileSync(join(runs, "a/train.log"), sound(step));
    const live = await start(["live", runs], folder);
    const { page, context, faults } = await open_page(browser);
    try {
      await page.goto(live.url);
      await shows(page, /learns/);
      for (let step = 1; step <= 80; ++step)
        appendFileSync(
          join(runs, "b/train.log"),
          step <= 40 ? sound(step) : line(step, 4 + step / 40, 20 + step),
        );
      await shows(page, /runs\/b/);
      const other = page.getByLabel("Draw beneath");
      await other.waitFor({ timeout: k_patience_ms });
      const value = await other.locator("option").nth(1).getAttribute("value");
      await other.selectOption(value);
      await shows(page, /part at step 4\d/);
      await picture(page, "program-two");
      assert.deepEqual(faults, []);
    } finally {
      await context.close();
      live.child.kill("SIGTERM");
      await live.ended;
    }
  });

  test("a notebook of this machine shows the page in a frame, where it was started so", async () => {
    const log = join(folder, "framed.log");
    for (let step = 1; step <= 60; ++step) appendFileSync(log, sound(step));
    const live = await start(["live", log, "--in-frame"], folder);
    const notebook = createHttpServer((_, answer) => {
      answer.setHeader("content-type", "text/html");
      answer.end(`<iframe src="${live.url}" width="900" height="700"></iframe>`);
    });
    await new Promise((resolve) => notebook.listen(0, "127.0.0.1", () => resolve(null)));
    const { page, context, faults } = await open_page(browser);
    try {
      const { port } = /** @type {import("node:net").AddressInfo} */ (notebook.address());
      await page.goto(`http://127.0.0.1:${port}/`);
      await page
        .frameLocator("iframe")
        .getByText(/learns/)
        .first()
        .waitFor();
      assert.deepEqual(faults, []);
    } finally {
      await context.close();
      notebook.close();
      live.child.kill("SIGTERM");
      await live.ended;
    }
  });

  test("a real training whose learning rate leaps while it is watched: alarm, cause, range and stop", async () => {
    // Least squares by plain gradient descent, which diverges above a rate of 2 / the largest curvature.
    writeFileSync(
      join(folder, "fit.py"),
      `import random, time
random.seed(1)
data = [([random.gauss(0, 1) for _ in range(8)], 0.0) for _ in range(64)]
truth = [random.gauss(0, 1) for _ in range(8)]
data = [(x, sum(a * b for a, b in zip(x, truth)) + random.gauss(0, 0.1)) for x, _ in data]
weights = [0.0] * 8
for step in range(1, 100000):
    rate = 0.02 if step <= 80 else 1.8
    batch = random.sample(data, 16)
    errors = [sum(a * b for a, b in zip(x, weights)) - y for x, y in batch]
    loss = sum(e * e for e in errors) / len(batch)
    gradient = [2 * sum(e * x[i] for e, (x, _) in zip(errors, batch)) / len(batch) for i in range(8)]
    norm = sum(g * g for g in gradient) ** 0.5
    print(f"step {step} | loss {loss:.5g} | grad_norm {norm:.5g} | lr {rate:g}", flush=True)
    weights = [w - rate * g if abs(w) < 1e30 else w for w, g in zip(weights, gradient)]
    time.sleep(0.04)
`,
    );
    /** @type {any[]} */
    const alarms = [];
    const receiver = createHttpServer((request, answer) => {
      let body = "";
      request.on("data", (/** @type {Buffer} */ part) => {
        body += part;
      });
      request.on("end", () => {
        alarms.push(JSON.parse(body));
        answer.end("ok");
      });
    });
    await new Promise((resolve) => receiver.listen(0, "127.0.0.1", () => resolve(null)));
    const { port } = /** @type {import("node:net").AddressInfo} */ (receiver.address());
    const words = ["--live", "--allow-stop", "--out", "fitted", "--alert-private"];
    const sink = ["--alert", `webhook:http://127.0.0.1:${port}/`];
    const run = await start(["run", ...words, ...sink, "--", "python3", "fit.py"], folder);
    const { page, context, faults } = await open_page(browser);
    try {
      await page.goto(run.url);
      await shows(page, /learning rate/i);
      await until(
        () => alarms.some((each) => each.what === "verdict"),
        "an alarm",
        3 * k_patience_ms,
      );
      const told = alarms.filter((each) => each.what === "verdict");
      assert.equal(new Set(told.map((each) => each.cause)).size, told.length, "one a cause");
      await until(
        async () => /failed|unstable|warning/i.test(await page.locator("body").innerText()),
        "a verdict",
        k_patience_ms,
      );
      const loss = page.getByRole("slider", { name: /^Loss over steps/ });
      await until(
        async () =>
          /(failure|trouble|warning): /.test((await loss.getAttribute("aria-label")) ?? ""),
        "the range of the symptom on the chart",
        k_patience_ms,
      );
      await picture(page, "program-real");
      await page.getByRole("button", { name: "Stop" }).first().click();
      await page.getByRole("button", { name: "Stop the run" }).click();
      await until(
        () => run.child.exitCode !== null || run.child.signalCode !== null,
        "its end",
        k_patience_ms,
      );
      const report = JSON.parse(readFileSync(join(folder, "fitted/report.json"), "utf8"));
      assert.notEqual(report.verdict, "healthy");
      assert.match(JSON.stringify(report.causes.slice(0, 2)), /lr-too-high|lr-scheduler/);
      assert.deepEqual(faults, []);
    } finally {
      await context.close();
      run.child.kill("SIGTERM");
      receiver.close();
    }
  });

  test("a training that was started with its page is stopped from it, and reported", async () => {
    const script =
      "i=0; while [ $i -lt 2000 ]; do i=$((i+1)); echo \"{'loss': 1.$((i*7919%97+100)), 'learning_rate': 2e-5, 'step': $i}\"; sleep 0.05; done";
    const run = await start(
      ["run", "--live", "--allow-stop", "--out", "stopped", "--", "sh", "-c", script],
      folder,
    );
    const { page, context, faults } = await open_page(browser);
    try {
      await page.goto(run.url);
      await page.getByRole("button", { name: "Stop" }).first().click();
      await page.getByRole("button", { name: "Stop the run" }).click();
      await until(
        () => run.child.exitCode !== null || run.child.signalCode !== null,
        "its end",
        k_patience_ms,
      );
      await shows(page, /Stopped/);
      assert.match(run.said(), /stopped as its page asks/);
      assert.match(readFileSync(join(folder, "stopped/report.json"), "utf8"), /aplomb\.report\/1/);
      assert.deepEqual(faults, []);
    } finally {
      await context.close();
      run.child.kill("SIGTERM");
    }
  });
});
