// A stand-in for the program, after docs/design/0009-live-page.md: the same answers over made-up runs, and means to be
// killed, started again and made to go wrong while somebody watches.

import { readFileSync } from "node:fs";
import { createServer } from "node:http";

const dist = new URL("../dist/", import.meta.url);
export const k_policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'none'";
const k_token = "0123456789abcdef0123456789abcdef";
const k_buffered_events = 500;

/** @param {number} value */
export const wire = (value) =>
  Number.isNaN(value)
    ? "NaN"
    : value === Infinity
      ? "Infinity"
      : value === -Infinity
        ? "-Infinity"
        : value;

/**
 * @typedef {{steps: number[], values: number[], role: string, unit: string}} Made
 * @typedef {{kind: string, series: string | null, from: number, to: number, label: string, severity: string}} Mark
 */

/** A run that the stand-in tells of. */
export class MadeRun {
  /** @param {string} id @param {Record<string, unknown>} [summary] */
  constructor(id, summary = {}) {
    this.id = id;
    /** @type {Record<string, any>} */
    this.summary = {
      id,
      name: id,
      path: `/home/ada/runs/${id}`,
      state: "running",
      standing: "insufficient-evidence",
      headline: "Too little was read to say anything",
      fix: null,
      step: null,
      total_steps: 400,
      last_step_at: Date.now() / 1000,
      started_at: Date.now() / 1000 - 620,
      rate: 2.4,
      eta_s: 130,
      cost: { so_far: 1.31, per_hour: 7.6, currency: "EUR" },
      ...summary,
    };
    /** @type {Map<string, Made>} */
    this.series = new Map();
    /** @type {Mark[]} */
    this.marks = [];
    /** @type {{rank: number, step: number, last_at: number, behind: number}[]} */
    this.ranks = [];
    /** @type {{n: number, text: string, evidence: boolean}[]} */
    this.log = [];
    this.revision = 1;
    /** @type {any} */
    this.report = null;
    this.memory = { device_bytes: 61.2 * 2 ** 30, host_bytes: 11.4 * 2 ** 30 };
  }

  /** @param {string} name @param {string} role @param {number} step @param {number} value @param {string} unit */
  put(name, role, step, value, unit = "") {
    let made = this.series.get(name);
    if (!made) {
      made = { steps: [], values: [], role, unit };
      this.series.set(name, made);
    }
    made.steps.push(step);
    made.values.push(value);
    this.summary.step = step;
    this.summary.last_step_at = Date.now() / 1000;
  }

  /** @param {string} text @param {boolean} [evidence] */
  say(text, evidence = false) {
    const line = { n: (this.log[this.log.length - 1]?.n ?? 0) + 1, text, evidence };
    this.log.push(line);
    return line;
  }

  detail() {
    return {
      ...this.summary,
      revision: this.revision,
      report: this.report,
      series: [...this.series].map(([name, made]) => ({
        name,
        role: made.role,
        unit: made.unit,
        count: made.steps.length,
        first_step: made.steps[0],
        last_step: made.steps[made.steps.length - 1],
        last: wire(made.values[made.values.length - 1] ?? Number.NaN),
      })),
      marks: this.marks,
      ranks: this.ranks,
      memory: this.memory,
      log: this.log.slice(-200),
    };
  }

  /** Least and greatest of each of at most `points` buckets. @param {string} name @param {number} from @param {number} to @param {number} points */
  buckets(name, from, to, points) {
    const made = this.series.get(name);
    if (!made) return null;
    const within = made.steps
      .map((_, i) => i)
      .filter((i) => from <= (made.steps[i] ?? 0) && (made.steps[i] ?? 0) <= to);
    const out = {
      name,
      steps: /** @type {number[]} */ ([]),
      min: /** @type {any[]} */ ([]),
      max: /** @type {any[]} */ ([]),
      exact: within.length <= points,
    };
    const first = made.steps[within[0] ?? 0] ?? 0;
    const span = Math.max(1, (made.steps[within[within.length - 1] ?? 0] ?? 0) - first + 1);
    let last = -1;
    for (const i of within) {
      const step = made.steps[i] ?? 0;
      const value = made.values[i] ?? Number.NaN;
      const bucket = out.exact ? i : Math.floor(((step - first) / span) * points);
      if (bucket !== last) {
        out.steps.push(step);
        out.min.push(value);
        out.max.push(value);
        last = bucket;
        continue;
      }
      const at = out.steps.length - 1;
      if (Number.isNaN(value)) out.max[at] = value;
      else if (!Number.isNaN(out.max[at])) {
        out.min[at] = Math.min(out.min[at], value);
        out.max[at] = Math.max(out.max[at], value);
      }
    }
    out.min = out.min.map(wire);
    out.max = out.max.map(wire);
    return out;
  }
}

export class StandIn {
  /** @param {{can_stop?: boolean}} [options] */
  constructor(options = {}) {
    this.can_stop = options.can_stop ?? false;
    /** @type {Map<string, MadeRun>} */
    this.runs = new Map();
    this.port = 0;
    this.next_id = 1;
    /** @type {{id: number, text: string}[]} */
    this.buffer = [];
    /** @type {Set<import("node:http").ServerResponse>} */
    this.viewers = new Set();
    /** @type {string[]} */
    this.asked = [];
    /** @type {string[]} */
    this.resumed_from = [];
    /** @type {string[]} */
    this.stopped = [];
    this.token = k_token;
    /** @type {import("node:http").Server | null} */
    this.server = null;
  }

  get url() {
    return `http://127.0.0.1:${this.port}/?token=${this.token}`;
  }

  /** @param {MadeRun} run */
  add(run) {
    this.runs.set(run.id, run);
    this.tell("runs", { runs: [run.summary] });
    return run;
  }

  async start() {
    this.server = createServer((request, answer) => this.serve(request, answer));
    await new Promise((resolve) =>
      this.server?.listen(this.port, "127.0.0.1", () => resolve(null)),
    );
    this.port = /** @type {import("node:net").AddressInfo} */ (this.server.address()).port;
    return this;
  }

  /** As kill -9: connections break, and what was buffered is lost where `forget`. */
  async kill(forget = false) {
    for (const viewer of this.viewers) viewer.destroy();
    this.viewers.clear();
    this.server?.closeAllConnections();
    await new Promise((resolve) => this.server?.close(() => resolve(null)));
    if (forget) this.buffer = [];
  }

  /** @param {string} name @param {unknown} data */
  tell(name, data) {
    const id = this.next_id++;
    const text = `id: ${id}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
    this.buffer.push({ id, text });
    this.buffer = this.buffer.slice(-k_buffered_events);
    for (const viewer of this.viewers) viewer.write(text);
  }

  /** A step of a run, as it is told: points, and the summary. @param {MadeRun} run @param {number} step @param {Record<string, [string, number, string?]>} values */
  step(run, step, values) {
    /** @type {Record<string, [number, unknown][]>} */
    const series = {};
    for (const [name, [role, value, unit]] of Object.entries(values)) {
      run.put(name, role, step, value, unit);
      series[name] = [[step, wire(value)]];
    }
    this.tell("points", { run: run.id, series });
    this.tell("runs", { runs: [run.summary] });
  }

  /** @param {MadeRun} run @param {string} text @param {boolean} [evidence] */
  say(run, text, evidence) {
    this.tell("log", { run: run.id, lines: [run.say(text, evidence)] });
  }

  /** The verdict changed. @param {MadeRun} run @param {any} report @param {Record<string, unknown>} summary @param {Mark[]} marks */
  judge(run, report, summary, marks = run.marks) {
    run.report = report;
    Object.assign(run.summary, summary);
    run.marks = marks;
    run.revision += 1;
    this.tell("marks", { run: run.id, marks });
    this.tell("runs", { runs: [run.summary] });
    this.tell("report", { run: run.id, revision: run.revision });
  }

  /** @param {import("node:http").IncomingMessage} request @param {import("node:http").ServerResponse} answer */
  serve(request, answer) {
    const url = new URL(request.url ?? "/", "http://127.0.0.1");
    const send = (
      /** @type {number} */ status,
      /** @type {string} */ type,
      /** @type {string | Buffer} */ body,
    ) => {
      answer.writeHead(status, {
        "Content-Type": type,
        "Content-Security-Policy": k_policy,
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-store",
      });
      answer.end(body);
    };
    const json = (/** @type {unknown} */ body, status = 200) =>
      send(status, "application/json", JSON.stringify(body));
    const error = (/** @type {number} */ status, /** @type {string} */ what) =>
      json({ error: { what, why: "", do: "Look at the list of runs" } }, status);
    if (url.pathname === "/" && url.searchParams.get("token") === this.token) {
      answer.writeHead(303, {
        "Set-Cookie": `aplomb=${this.token}; HttpOnly; SameSite=Strict; Path=/`,
        Location: "/",
      });
      answer.end();
      return;
    }
    if (!(request.headers.cookie ?? "").includes(`aplomb=${this.token}`))
      return error(401, "no token");
    const files = {
      "/": ["index.html", "text/html; charset=utf-8"],
      "/app.js": ["app.js", "text/javascript"],
      "/app.css": ["app.css", "text/css"],
    };
    const file = files[/** @type {keyof typeof files} */ (url.pathname)];
    if (file) return send(200, String(file[1]), readFileSync(new URL(String(file[0]), dist)));
    this.asked.push(url.pathname + url.search);
    if (url.pathname === "/api/runs") {
      return json({
        schema: "aplomb.live/1",
        server: {
          version: "0.0.0 (stand-in)",
          started: Date.now() / 1000,
          can_stop: this.can_stop,
        },
        runs: [...this.runs.values()].map((run) => run.summary),
      });
    }
    if (url.pathname === "/api/events") return this.serve_events(request, answer);
    const parts = url.pathname.split("/").map(decodeURIComponent);
    const run = this.runs.get(parts[3] ?? "");
    if (parts[2] !== "runs" || !run) return error(404, "There is no such run");
    if (parts.length === 4) return json(run.detail());
    if (parts[4] === "series") {
      const number = (/** @type {string} */ name, /** @type {number} */ otherwise) =>
        Number(url.searchParams.get(name) ?? otherwise);
      const body = run.buckets(
        parts[5] ?? "",
        number("from", -Infinity),
        number("to", Infinity),
        number("points", 1000),
      );
      return body ? json(body) : error(404, "There is no such series");
    }
    if (parts[4] === "stop" && request.method === "POST") {
      if (!this.can_stop) return error(403, "The program was started without --allow-stop");
      if (request.headers.origin !== `http://127.0.0.1:${this.port}`)
        return error(403, "A page of another origin asks");
      let body = "";
      request.on("data", (part) => {
        body += part;
      });
      request.on("end", () => {
        if (JSON.parse(body || "{}").confirm !== true)
          return error(400, "The body does not confirm");
        this.stopped.push(run.id);
        json({ stopping: true }, 202);
        Object.assign(run.summary, { state: "stopped", eta_s: null });
        this.tell("runs", { runs: [run.summary] });
      });
      return;
    }
    error(404, "There is no such address");
  }

  /** @param {import("node:http").IncomingMessage} request @param {import("node:http").ServerResponse} answer */
  serve_events(request, answer) {
    answer.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
    answer.write(": here\nretry: 300\n\n");
    const from = request.headers["last-event-id"];
    if (from !== undefined) {
      this.resumed_from.push(String(from));
      const oldest = this.buffer[0]?.id ?? Number.POSITIVE_INFINITY;
      if (Number(from) + 1 < oldest && Number(from) + 1 < this.next_id) {
        answer.write(`id: ${this.next_id++}\nevent: reset\ndata: {}\n\n`);
      } else {
        for (const event of this.buffer) if (event.id > Number(from)) answer.write(event.text);
      }
    }
    this.viewers.add(answer);
    answer.on("close", () => this.viewers.delete(answer));
  }
}
