// The parts that need no browser, as they are built.
import assert from "node:assert/strict";
import { test } from "node:test";
import { build } from "esbuild";
import { noise_of } from "./made.mjs";

/** @param {string} name */
const module_of = async (name) => {
  const built = await build({
    entryPoints: [new URL(`../src/${name}.ts`, import.meta.url).pathname],
    bundle: true,
    write: false,
    format: "esm",
    logLevel: "error",
  });
  const text = built.outputFiles[0]?.text ?? "";
  return import(`data:text/javascript;base64,${Buffer.from(text).toString("base64")}`);
};

/** @type {typeof import("../src/curve")} */
const { Curve } = await module_of("curve");
/** @type {typeof import("../src/parting")} */
const { parting_of } = await module_of("parting");
/** @type {typeof import("../src/store")} */
const store = await module_of("store");
/** @type {typeof import("../src/text")} */
const text = await module_of("text");
/** @type {typeof import("../src/ticks")} */
const { log_ticks } = await module_of("ticks");
/** @type {typeof import("../src/verdict")} */
const verdict = await module_of("verdict");

test("ticks of a logarithmic axis: few, whole powers, and they end however wide the range is", () => {
  assert.deepEqual(log_ticks(0.02, 50), [0.1, 1, 10]);
  assert.deepEqual(log_ticks(0.9, 1.9), [1]);
  assert.deepEqual(log_ticks(1.5, 30), [2, 5, 10, 20]);
  assert.deepEqual(log_ticks(0.01, 1e62).length <= 8, true);
  assert.ok(log_ticks(0.01, 1e62).every((each) => Math.log10(each) % 10 === 0));
  assert.ok(log_ticks(1e-300, 1e300).length <= 8);
  assert.deepEqual(log_ticks(0, 10), []);
  assert.deepEqual(log_ticks(1, Number.POSITIVE_INFINITY), []);
});

test("curve: memory is bounded and no extreme is lost", () => {
  const curve = new Curve(256);
  const noise = noise_of(1);
  for (let step = 0; step < 100_000; ++step)
    curve.append(step, step === 77_777 ? 1000 : step === 12_345 ? -1000 : noise());
  assert.ok(curve.size <= 256);
  const { least, most } = curve.extent(0, 100_000);
  assert.deepEqual([least, most], [-1000, 1000]);
  assert.equal(curve.last_step >= 99_000, true);
});

test("curve: NaN and infinities are kept beside the finite values of their bucket", () => {
  const curve = Curve.from_wire({
    steps: [1, 2, 3, 4],
    min: [1, "NaN", 2, "-Infinity"],
    max: [1, "NaN", "Infinity", 3],
    exact: false,
  });
  assert.deepEqual(curve.bad, [false, true, true, true]);
  assert.deepEqual(curve.min.map(String), ["1", "NaN", "2", "3"]);
  assert.deepEqual(curve.max.map(String), ["1", "NaN", "2", "3"]);
});

test("curve: steps that come again widen what is there, and the order stays", () => {
  const curve = new Curve();
  for (const [step, value] of /** @type {[number, number | string][]} */ ([
    [1, 5],
    [2, 4],
    [4, 3],
    [2, 9],
    [3, 1],
    [4, "NaN"],
    [5, 2],
  ]))
    curve.append(step, value);
  assert.deepEqual(curve.steps, [1, 2, 3, 4, 5]);
  assert.deepEqual(curve.min, [5, 4, 1, 3, 2]);
  assert.deepEqual(curve.max, [5, 9, 1, 3, 2]);
  assert.deepEqual(curve.bad, [false, false, false, true, false]);
});

test("curve: what is malformed is left out", () => {
  const wire = /** @type {any} */ ({
    steps: [1, null, "x", 4],
    min: [1, 2, 3],
    max: [1, 2, 3, 4],
    exact: true,
  });
  const curve = Curve.from_wire(wire);
  assert.deepEqual(
    curve.steps.filter((step) => step > 0),
    [1],
  );
});

test("store: lines that come are laid behind the known ones, and known ones only learn that they are evidence", () => {
  const line = (/** @type {number} */ n, /** @type {string} */ said, evidence = false) => ({
    n,
    text: said,
    evidence,
  });
  const log = store.with_lines(
    [line(1, "a"), line(2, "b")],
    [line(2, "b", true), line(3, "c"), line(1, "after a rotation")],
  );
  assert.deepEqual(log, [
    line(1, "a"),
    line(2, "b", true),
    line(3, "c"),
    line(1, "after a rotation"),
  ]);
  const many = store.with_lines(
    log,
    Array.from({ length: 5000 }, (_, n) => line(n + 10, "x")),
  );
  assert.equal(many.length, store.k_most_log_lines);
  assert.equal(many[many.length - 1]?.n, 5009);
});

test("parting: equal curves with noise of their own part at most about as often as is said", () => {
  let parted = 0;
  for (let pair = 0; pair < 100; ++pair) {
    const [a, b] = [new Curve(), new Curve()];
    const [one, two] = [noise_of(2 * pair + 1), noise_of(2 * pair + 2_000_003)];
    for (let step = 0; step < 400; ++step) {
      const level = 2 + 5 * Math.exp(-step / 60);
      a.append(step, level + 0.05 * one());
      b.append(step, level + 0.05 * two());
    }
    if (parting_of(a, b)) parted += 1;
  }
  assert.ok(parted <= 4, `${parted} of 100`);
});

test("parting: a lasting shift is found where it begins", () => {
  const [a, b] = [new Curve(), new Curve()];
  const [one, two] = [noise_of(11), noise_of(22)];
  for (let step = 0; step < 400; ++step) {
    a.append(step, 2 + 0.05 * one());
    b.append(step, 2 + 0.05 * two() + (step >= 250 ? 0.2 : 0));
  }
  const step = parting_of(a, b)?.step ?? Number.NaN;
  assert.ok(Math.abs(step - 250) <= 6, `found ${step}`);
});

test("text: what hides is written out, what is long is cut", () => {
  assert.equal(
    text.visible("a\u202eb\u200bc\u0007d\u{e0041}e"),
    "a<U+202E>b<U+200B>c<U+0007>d<U+E0041>e",
  );
  assert.equal(text.visible("naïve 日本 🙂\ttab"), "naïve 日本 🙂\ttab");
  assert.equal(text.shown_line("abcdef", 3), "abc … (3 more characters)");
});

test("text: numbers, times and money for a glance", () => {
  assert.deepEqual(
    [2.34567, 1e-5, 123456789, 0, Number.NaN, Number.POSITIVE_INFINITY].map((n) =>
      text.show_number(n),
    ),
    ["2.346", "1.00e-5", "1.23e8", "0", "NaN", "Inf"],
  );
  assert.equal(text.show_number(61.2 * 2 ** 30, "bytes"), "61.2 GiB");
  assert.deepEqual([3, 84, 840, 7500, 273600].map(text.show_duration), [
    "3 s",
    "1 min 24 s",
    "14 min",
    "2 h 5 min",
    "3 d 4 h",
  ]);
  assert.deepEqual([2.4, 0.1, 0.001].map(text.show_rate), [
    "2.4 steps/s",
    "6 steps/min",
    "3.6 steps/h",
  ]);
  assert.equal(text.group(1234567), "1,234,567");
});

test("verdict: only links of known forms lead anywhere", () => {
  assert.equal(verdict.link_of("arXiv:1710.03740"), "https://arxiv.org/abs/1710.03740");
  assert.equal(verdict.link_of("https://pytorch.org/x"), "https://pytorch.org/x");
  for (const bad of [
    "javascript:alert(1)",
    "data:text/html,x",
    'https://x/"onclick',
    "http://x",
    "arXiv:<b>",
  ])
    assert.equal(verdict.link_of(bad), null);
});
