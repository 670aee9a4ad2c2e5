// Made-up runs that go wrong as real ones do.
import { MadeRun } from "./stand_in.mjs";

/** The same noise each time. @param {number} seed */
export const noise_of = (seed) => {
  let state = seed >>> 0 || 1;
  return () => {
    let sum = 0;
    for (let i = 0; i < 4; ++i) {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      sum += state / 2 ** 32 - 0.5;
    }
    return sum;
  };
};

/** @typedef {Record<string, [string, number, string?]>} Values */

/** What a sound run logs at a step. @param {number} step @param {() => number} noise @returns {Values} */
export const sound_step = (step, noise) => ({
  loss: ["loss", 2.2 + 8 * Math.exp(-step / 45) + 0.09 * noise()],
  grad_norm: ["grad_norm", Math.abs(0.9 + 2 * Math.exp(-step / 30) + 0.22 * noise())],
  lr: ["lr", 3e-4 * Math.min(1, step / 40)],
  tokens_per_s: ["tokens_per_s", 48200 + 900 * noise(), "tokens/s"],
  memory_bytes: ["memory_bytes", 61.2 * 2 ** 30 + 2e8 * noise(), "bytes"],
});

/** @param {number} step @param {Values} values */
export const line_of = (step, values) =>
  `step ${step}/400 | loss ${(values.loss ?? ["", NaN])[1].toFixed(4)} | grad_norm ${(values.grad_norm ?? ["", NaN])[1].toFixed(3)} | lr ${(values.lr ?? ["", 0])[1].toExponential(2)} | tok/s ${Math.round((values.tokens_per_s ?? ["", 0])[1])}`;

/** @param {MadeRun} run @param {number} steps @param {number} [seed] */
export const train = (run, steps, seed = 7) => {
  const noise = noise_of(seed);
  for (let step = 1; step <= steps; ++step) {
    const values = sound_step(step, noise);
    for (const [name, [role, value, unit]] of Object.entries(values))
      run.put(name, role, step, value, unit);
    if (step % 5 === 0) run.say(line_of(step, values));
  }
  return run;
};

/** @param {string} path @param {number} line @param {number | null} step @param {string} text */
const evidence = (path, line, step, text) => ({ path, line, step, text });

const nothing = {
  inputs: [],
  findings: [],
  runs: [],
  health: { shown: [], against: [], missing: [] },
  settings: {},
};

/** @param {number} step */
export const healthy_report = (step) => ({
  schema: "aplomb.report/1",
  ...nothing,
  verdict: "healthy",
  series: [],
  symptoms: [
    {
      id: "gate.first_ten",
      severity: "note",
      first_step: 1,
      last_step: 10,
      series: "loss",
      summary: "the first 10 records pass",
      evidence: [],
    },
  ],
  causes: [],
  ruled_out: [],
  unknown_probability: 0,
  experiments: [],
  summary: {
    headline: "The run learns, and nothing speaks against it",
    seen: `loss 9.98 -> 2.31 over ${step} records, noise 0.09 from record to record`,
    first_action: "Nothing. An evaluation on held-out data would show whether it generalises.",
    framework: "hf-trainer",
  },
});

/** @param {number} at the step of the first NaN @returns {any} */
export const nan_report = (at) => {
  const nan_line = evidence(
    "/home/ada/runs/llama-1b/train.log",
    at,
    at,
    `step ${at}/400 | loss nan | grad_norm nan | lr 3.00e-04 | tok/s 48113`,
  );
  const config = evidence(
    "/home/ada/runs/llama-1b/config.yaml",
    14,
    null,
    "dtype: float16   # was bfloat16 on the other machine",
  );
  return {
    schema: "aplomb.report/1",
    ...nothing,
    verdict: "failed",
    series: [],
    symptoms: [
      {
        id: "loss.nonfinite",
        severity: "failed",
        first_step: at,
        last_step: at + 12,
        series: "loss",
        summary: `loss is NaN from step ${at} on`,
        evidence: [nan_line],
      },
      {
        id: "grad_norm.rise",
        severity: "warning",
        first_step: at - 14,
        last_step: at - 1,
        series: "grad_norm",
        summary: "the gradient norm grows 40-fold within 14 steps before it",
        evidence: [],
      },
    ],
    causes: [
      {
        id: "overflow.fp16",
        family: "precision",
        title: "Half precision overflowed: float16 without a loss scale",
        probability: 0.94,
        because:
          "Activations above 65,504 become infinite in `float16`, and the first subtraction of two of them is NaN. Nothing scales the loss, and `bfloat16` has the range that is missing.",
        evidence: [nan_line, config],
        remedies: [
          {
            text: "Train in bfloat16",
            set: { "precision.compute": "bf16" },
            rendered: {
              generic: "precision.compute: bf16",
              "hf-trainer": "TrainingArguments(..., bf16=True, fp16=False)",
              "hf-trainer command line": "--bf16 True --fp16 False",
            },
          },
          {
            text: "Or keep float16 and scale the loss",
            set: { "precision.loss_scale": "dynamic" },
            rendered: { generic: "precision.loss_scale: dynamic" },
          },
        ],
        verify: "the loss passes step 210, and `grad_norm` stays below 5",
        weights: [
          {
            when: "loss.nonfinite && precision.compute == fp16",
            weight: 3.1,
            because: "the loss is NaN and the run computes in float16",
            evidence: [nan_line, config],
          },
          {
            when: "grad_norm.rise",
            weight: 1.2,
            because: "the gradient norm rose before it",
            evidence: [],
          },
        ],
        references: ["arXiv:1710.03740", "https://pytorch.org/docs/stable/amp.html"],
      },
      {
        id: "diverge.lr-too-high",
        family: "diverge",
        title: "The learning rate is too high",
        probability: 0.31,
        because:
          "Steps larger than the loss surface allows throw the weights further than the gradient can see.",
        evidence: [],
        remedies: [
          {
            text: "Halve the peak learning rate",
            set: { "optim.lr": 0.00015 },
            rendered: { generic: "optim.lr: 0.00015" },
          },
        ],
        verify: "",
        weights: [
          {
            when: "grad_norm.rise",
            weight: 1.4,
            because: "the gradient norm rose before the loss broke",
            evidence: [],
          },
          {
            when: "lr.peak <= usual",
            weight: -1.9,
            because: "3e-4 is usual for a model of this size",
            evidence: [],
          },
        ],
        references: ["arXiv:2309.14322"],
      },
      {
        id: "data.poisoned-batch",
        family: "data",
        title: "One batch is broken",
        probability: 0.04,
        because: "A batch with values out of range makes one step infinite.",
        evidence: [],
        remedies: [],
        verify: "",
        weights: [
          {
            when: "grad_norm.rise",
            weight: -1.5,
            because: "the norm rose over 14 steps: one batch acts at once",
            evidence: [],
          },
        ],
        references: [],
      },
    ],
    ruled_out: [
      {
        id: "hang.network",
        title: "The ranks cannot reach each other",
        because: "210 losses were logged: the ranks reached each other",
        evidence: [],
      },
      {
        id: "oom.fragmentation",
        title: "Memory ran out",
        because: "the device holds 80 GiB, and at most 61.4 were taken",
        evidence: [],
      },
    ],
    unknown_probability: 0.03,
    experiments: [],
    summary: {
      headline: `loss is NaN from step ${at} on. Most likely: Half precision overflowed.`,
      seen: `loss is NaN from step ${at} on, 14 steps after the gradient norm began to rise`,
      first_action: "Train in bfloat16",
      framework: "hf-trainer",
      run: "/home/ada/runs/llama-1b",
      steps: at + 12,
    },
  };
};

/** @param {number} at */
export const nan_marks = (at) => [
  {
    kind: "symptom",
    series: "loss",
    from: at,
    to: at + 12,
    label: `loss is NaN from step ${at} on`,
    severity: "error",
  },
  {
    kind: "symptom",
    series: "grad_norm",
    from: at - 14,
    to: at - 1,
    label: "the gradient norm grows 40-fold",
    severity: "warning",
  },
  {
    kind: "guard",
    series: null,
    from: at,
    to: at,
    label: "the guard skipped the step",
    severity: "warning",
  },
  {
    kind: "checkpoint",
    series: null,
    from: 100,
    to: 100,
    label: "checkpoint-100",
    severity: "info",
  },
  {
    kind: "checkpoint",
    series: null,
    from: 200,
    to: 200,
    label: "checkpoint-200",
    severity: "info",
  },
  {
    kind: "restart",
    series: null,
    from: 101,
    to: 101,
    label: "resumed from checkpoint-100",
    severity: "info",
  },
];

/** What such a run logs as it breaks. @param {number} step @param {number} at @param {() => number} noise @returns {Values} */
export const breaking_step = (step, at, noise) => {
  const values = sound_step(step, noise);
  if (step >= at)
    return { ...values, loss: ["loss", Number.NaN], grad_norm: ["grad_norm", Number.NaN] };
  if (step > at - 14) values.grad_norm = ["grad_norm", 0.9 * 40 ** ((step - at + 14) / 14)];
  return values;
};

export const k_hostile = [
  "<script>window.hacked = 1</script>",
  '<img src=x onerror="window.hacked = 2">',
  "</li></ol><h1>All is well</h1><svg onload=window.hacked=3>",
  "loss is fine \u202e.dekcah ton si sihT\u202c",
  "zero\u200bwidth and \u0007bell and \u001b[31mred\u001b[0m",
  "javascript:window.hacked=4",
  `${"A".repeat(300_000)}end`,
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a template of another language.
  "{{constructor.constructor('window.hacked=5')()}} ${window.hacked=6}",
  "\ud800 lone surrogate, \uffff, \u0000 nul",
];

/** A run whose every text is an attack. */
export const hostile_run = () => {
  const bad = k_hostile[1] ?? "";
  const run = new MadeRun(`<b>"'&/../x`, {
    name: `<img src=x onerror="window.hacked=9">`,
    headline: bad,
    fix: bad,
    path: bad,
    standing: "failed",
  });
  train(run, 30);
  const name = `loss/<svg onload="window.hacked=7">`;
  for (let step = 1; step <= 30; ++step) run.put(name, "other", step, 1 / step, `<i>"`);
  for (const line of k_hostile) run.say(line, true);
  const report = nan_report(20);
  const cause = report.causes[0];
  if (cause) {
    cause.title = bad;
    cause.because = bad;
    cause.references = [
      "javascript:window.hacked=8",
      `https://x.example/"onmouseover="window.hacked=8`,
      "data:text/html,<script>",
    ];
    cause.remedies = [
      { text: bad, set: {}, rendered: /** @type {any} */ ({ [bad]: k_hostile[0] ?? "" }) },
    ];
  }
  for (const symptom of report.symptoms) symptom.series = name;
  run.report = report;
  run.marks = [{ kind: "symptom", series: name, from: 10, to: 20, label: bad, severity: "error" }];
  return run;
};
