/** A headless Chromium, for tests that need to see a page. */
import { existsSync } from "node:fs";
import { type Browser, type BrowserContextOptions, chromium } from "playwright-core";
import { onTestFinished } from "vitest";

const executablePath = process.env["CHROMIUM"] ?? "/usr/bin/chromium";

/** Else it looks for updates and for its maker's hosts, which keeps a machine without a network busy. */
const quiet = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Not every machine has one: what needs it is skipped there. */
export const hasBrowser = existsSync(executablePath);

/** A busy machine may draw a page many times more slowly: only what never comes is a fault. */
const patienceMs = 240_000;

let launched: Promise<Browser> | undefined;

/** One for all files of a worker, which ends it with itself; its pages know nothing of each other. */
function browser(): Promise<Browser> {
  launched ??= chromium.launch({ executablePath, args: quiet, timeout: patienceMs });
  return launched;
}

/**
 * A page that notes what it asks for and what its policy forbids; closed when the test ends. Its locale is that of the
 * United States, whatever the machine's is, unless `options` say otherwise.
 */
export async function openPage(options: BrowserContextOptions = {}) {
  const context = await (await browser()).newContext({ locale: "en-US", ...options });
  onTestFinished(() => context.close());
  context.setDefaultTimeout(patienceMs);
  const page = await context.newPage();
  const requests: string[] = [];
  const complaints: string[] = [];
  page.on("request", (request) => requests.push(request.url()));
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(error.message));
  return { page, requests, complaints };
}
