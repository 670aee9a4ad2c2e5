/** Texts as they are shown: numbers, times, and what a log line may hide. */

const k_hidden =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for.
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

/**
 * What hides or turns a line around is written out, `<U+202E>`, as the program does in its own views. The server does
 * so too; a report that somebody else made may not have been through it.
 */
export const visible = (text: string): string =>
  String(text ?? "").replace(
    k_hidden,
    (found) => `<U+${(found.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}>`,
  );

/** A line as it goes on the page: visible, and cut where it is too long for anybody to read. */
export const shown_line = (text: string, most: number): string => {
  const seen = visible(text.length > most ? text.slice(0, most) : text);
  return text.length > most ? `${seen} … (${group(text.length - most)} more characters)` : seen;
};

export const text_of = (value: unknown): string => (typeof value === "string" ? value : "");

export const group = (value: number): string =>
  String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ",");

export const show_number = (value: number, unit = ""): string => {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "Inf" : "-Inf";
  if (unit === "bytes") return show_bytes(value);
  const size = Math.abs(value);
  if (size >= 1e4 && size < 1e7) return unit ? `${group(value)} ${unit}` : group(value);
  const text =
    size >= 1e6 || (value !== 0 && size < 1e-3)
      ? value.toExponential(2).replace("e+", "e")
      : String(Number(value.toPrecision(4)));
  return unit ? `${text} ${unit}` : text;
};

/** At an axis: short, without a unit but that of bytes. */
export const show_tick = (value: number, unit: string): string => {
  if (unit === "bytes") return show_bytes(value);
  const size = Math.abs(value);
  if (size >= 1e4 && size < 1e6) return `${Number((value / 1e3).toPrecision(6))}k`;
  return show_number(Number(value.toPrecision(6))).replace(/\.?0+e/, "e");
};

export const show_bytes = (bytes: number): string => {
  if (bytes >= 2 ** 30) return `${(bytes / 2 ** 30).toPrecision(3)} GiB`;
  if (bytes >= 2 ** 20) return `${(bytes / 2 ** 20).toPrecision(3)} MiB`;
  return `${Math.round(bytes / 1024)} KiB`;
};

/** "3 s", "14 min", "2 h 5 min", "3 d 4 h": two units at most, for a glance. */
export const show_duration = (seconds: number): string => {
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return `${s} s`;
  const min = Math.floor(s / 60);
  if (min < 60) return min < 10 && s % 60 ? `${min} min ${s % 60} s` : `${min} min`;
  const h = Math.floor(min / 60);
  if (h < 24) return min % 60 ? `${h} h ${min % 60} min` : `${h} h`;
  const d = Math.floor(h / 24);
  return h % 24 ? `${d} d ${h % 24} h` : `${d} d`;
};

export const show_rate = (per_s: number): string => {
  if (per_s >= 1) return `${show_number(Number(per_s.toPrecision(3)))} steps/s`;
  if (per_s >= 1 / 60) return `${Number((per_s * 60).toPrecision(3))} steps/min`;
  return `${Number((per_s * 3600).toPrecision(3))} steps/h`;
};

export const show_money = (amount: number, currency: string): string => {
  const text = amount >= 100 ? group(amount) : amount.toFixed(2);
  return currency ? `${text} ${currency}` : text;
};

export const show_percent = (probability: number): string => {
  if (probability > 0.99) return "> 99 %";
  if (probability < 0.01) return "< 1 %";
  return `${Math.round(probability * 100)} %`;
};

/** The hour of day, with the day where it is not today. */
export const show_clock = (epoch_s: number, now_s: number): string => {
  const at = new Date(epoch_s * 1000);
  const time = at.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" });
  if (new Date(now_s * 1000).toDateString() === at.toDateString()) return time;
  return `${at.toLocaleDateString(undefined, { day: "numeric", month: "short" })} ${time}`;
};
