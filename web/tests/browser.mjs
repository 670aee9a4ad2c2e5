// The browser that the tests drive, and what every page of theirs must not do.
import { existsSync, mkdirSync } from "node:fs";
import { chromium } from "playwright-core";

export const k_chromium = process.env.APLOMB_CHROMIUM ?? "/usr/bin/chromium";
export const has_browser = existsSync(k_chromium);
export const k_pictures = new URL("../../build/check/live/", import.meta.url).pathname;

export const open_browser = () =>
  chromium.launch({
    executablePath: k_chromium,
    // Chromium's sandbox refuses root, and containers run as root.
    args: [
      "--disable-gpu",
      "--disable-quic",
      ...(process.getuid?.() === 0 ? ["--no-sandbox"] : []),
    ],
  });

/**
 * A page that counts what went wrong on it: errors of scripts, what the policy refused, requests elsewhere.
 * @param {import("playwright-core").Browser} browser
 * @param {import("playwright-core").BrowserContextOptions} [options]
 */
export const open_page = async (browser, options = {}) => {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  /** @type {string[]} */
  const faults = [];
  page.on("pageerror", (error) => faults.push(`script: ${error.message}`));
  page.on("console", (message) => {
    // What the browser says of a connection that a test breaks is no fault of the page.
    if (message.type() === "error" && !/Failed to load resource|ERR_/.test(message.text()))
      faults.push(message.text());
  });
  page.on("request", (request) => {
    if (!/^(http:\/\/127\.0\.0\.1:|file:|data:|blob:)/.test(request.url()))
      faults.push(`asks ${request.url()}`);
  });
  return { page, context, faults };
};

/** @param {import("playwright-core").Page} page @param {string} name */
export const picture = async (page, name, full = true) => {
  mkdirSync(k_pictures, { recursive: true });
  await page.screenshot({ path: `${k_pictures}${name}.png`, fullPage: full });
};

/** Waits until it holds, and says what it was when it never did. @param {() => Promise<boolean> | boolean} holds @param {string} what */
export const until = async (holds, what, within_ms = 8000) => {
  const end = Date.now() + within_ms;
  while (Date.now() < end) {
    if (await holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error(`never: ${what}`);
};

/** Presses the button that zooms in: milliseconds until the frame that shows it. @param {import("playwright-core").Page} page */
export const zoom_ms = async (page) =>
  Number(
    await page.evaluate(() => {
      const start = performance.now();
      /** @type {HTMLElement} */ (document.querySelector('[aria-label="Zoom in"]')).click();
      const label = document.querySelector(".heading .tools span")?.textContent;
      return new Promise((resolve) => {
        const look = () => {
          if (document.querySelector(".heading .tools span")?.textContent === label)
            requestAnimationFrame(look);
          else requestAnimationFrame(() => resolve(performance.now() - start));
        };
        requestAnimationFrame(look);
      });
    }),
  );

/** The middle one. @param {number[]} all */
export const median = (all) => [...all].sort((a, b) => a - b)[all.length >> 1] ?? 0;
