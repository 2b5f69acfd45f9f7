/**
 * Pictures of the console's pages and states at three widths and in both themes, to be looked at:
 * `npm run pictures -- <folder> [name of a state]`. Those of docs/console.md: `npm run pictures -- docs/console`.
 */
import { mkdirSync } from "node:fs";
import path from "node:path";
import { chromium, type Page } from "playwright-core";
import { runningDatabaseUrl } from "#embedded/running.ts";
import { openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import type { CheckResult } from "#monitor/contract.ts";
import { promotionsName } from "#rollout/promotions/contract.ts";
import { saveRecords } from "../test/support/monitor/check-rows.ts";
import { startProgram } from "../test/support/program/program.ts";
import { startFakeFleet } from "../test/support/rollout/fake-fleet.ts";
import { waitFor } from "../test/support/wait-for.ts";

const [folder = "pictures", only] = process.argv.slice(2);
const sizes = [
  { width: 360, height: 740 },
  { width: 1_440, height: 900 },
  { width: 2_560, height: 1_300 },
];
const themes = ["light", "dark"] as const;

const wide = { width: 1_280, height: 860, theme: "light" } as const;
/** Pictures in the document, by state. */
const documented: Record<string, Shot[]> = {
  "rollout-running": [{ ...wide, file: "rollout" }],
  "rollout-paused": [
    { ...wide, file: "paused" },
    { ...wide, file: "dark", theme: "dark" },
    { width: 360, height: 740, theme: "light", file: "phone" },
  ],
  plan: [{ ...wide, file: "start" }],
  fleet: [{ ...wide, file: "fleet" }],
  sentinel: [{ ...wide, file: "sentinel" }],
  history: [{ ...wide, file: "history" }],
  past: [{ ...wide, file: "past" }],
  checks: [{ ...wide, file: "checks" }],
  check: [{ ...wide, file: "check" }],
  routes: [{ ...wide, file: "routes" }],
};

type Shot = { file: string; width: number; height: number; theme: (typeof themes)[number] };

/** Lists the pictures of a state, with the height of the window, or as long as the page is. */
function shotsOf(name: string): { shots: Shot[]; fullPage: boolean } {
  if (folder === "docs/console") return { shots: documented[name] ?? [], fullPage: false };
  const shots = themes.flatMap((theme) =>
    sizes.map((size) => ({ ...size, theme, file: `${name}-${size.width}-${theme}` })),
  );
  return { shots: only === undefined || name === only ? shots : [], fullPage: true };
}
const image = (version: string) => `registry.example.com/edge/gateway:${version}`;
const crash =
  "crash_loop: the container exited with 1 three times: Error: config key `upstreams` is missing";

/** A log as gateways write it, of the last seconds. */
const lines = (texts: readonly string[]) =>
  texts
    .map((text, n) => `${new Date(Date.now() - (texts.length - n) * 700).toISOString()} ${text}`)
    .join("\n");
const crashLog = [
  "INFO  gateway 1.9.1 starting, pid 1",
  "INFO  reading /etc/gateway/gateway.yaml",
  "WARN  key `backends` is deprecated, use `upstreams`",
  "ERROR config key `upstreams` is missing",
  "ERROR    at loadUpstreams (/app/config.js:118:11)",
  "ERROR    at start (/app/main.js:31:5)",
  "FATAL exiting with 1",
];
const servingLog = [
  "INFO  reading /etc/gateway/gateway.yaml",
  "INFO  12 upstreams, 0 of them unhealthy",
  "INFO  listening on :8080",
  "INFO  ready after 412 ms",
  "INFO  1,204 requests in the last minute, p95 18 ms",
];

const fleet = await startFakeFleet({
  size: 240,
  behave: (id, name) => {
    if (name.endsWith("bad") && id.endsWith("5")) return { failAfterMs: 60, reason: crash };
    if (name.endsWith("bad") && id.endsWith("77")) {
      return { failAfterMs: 60, reason: "probe_failing: GET /healthz answered 503 for 60 s" };
    }
    return { readyAfterMs: name.endsWith("slow") ? 4_000 : 30 };
  },
  readLog: (_, deployId) => (deployId === null ? lines(servingLog) : lines(crashLog)),
});
const staging = await startFakeFleet({ size: 12, token: "token-of-staging" });
const program = await startProgram({
  ...fleet.environment(),
  VEDETTE_ROLLOUT__REQUIRE_IMAGE_IN_REGISTRY: "false",
});
const executablePath = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
const addressOf = (to: string) => `${program.endpoints().control}/console${to}`;

async function openPage(): Promise<Page> {
  const page = await browser.newPage();
  await page.goto(addressOf(""));
  await page.getByLabel("Token").fill(program.token());
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("navigation", { name: "Pages" }).waitFor();
  return page;
}

async function take(page: Page, name: string): Promise<void> {
  const { shots, fullPage } = shotsOf(name);
  for (const { file, theme, width, height } of shots) {
    await page.emulateMedia({ colorScheme: theme });
    await page.setViewportSize({ width, height });
    await settled(page);
    await page.screenshot({
      path: path.join(folder, `${file}.png`),
      fullPage,
      animations: "disabled",
    });
  }
}

/** Until the page has read what it shows, and has drawn it twice. */
async function settled(page: Page): Promise<void> {
  await waitFor(
    async () => (await page.getByText(/^(?:Loading|Reading|Drawing)…$/).count()) === 0,
    {
      withinMs: 20_000,
      what: "the page to have read everything",
    },
  );
  await page.evaluate("new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r)))");
}

async function visit(page: Page, to: string, name: string): Promise<void> {
  await page.goto(addressOf(to));
  await page.getByRole("heading", { level: 1 }).first().waitFor();
  await take(page, name);
}

async function roll(version: string, more: object = {}, handler = "Rollout"): Promise<string> {
  const order = { image: image(version), wave_percentages: [1, 5, 25, 50, 100], ...more };
  const { status, body } = await program.call(handler, order);
  if (status >= 300) throw new Error(`${handler} of ${version}: ${JSON.stringify(body)}`);
  return String(body["rollout_id"]);
}
const rollNow = (version: string, more: object = {}) => roll(version, more, "Rollout/send");

/** Until the page shows the rollout of this version, in this state. */
const showing = (page: Page, version: string, state: RegExp) =>
  page
    .locator(".state-head")
    .filter({ hasText: version })
    .getByRole("heading", { level: 1, name: state })
    .waitFor({ timeout: 120_000 });

/** A day of results, as a check has them; a quarter of an hour of it fails. */
async function fillCheck(checkId: string): Promise<void> {
  const database = openDatabase(
    runningDatabaseUrl(program.dataDir),
    createLog({ level: "silent", format: "json" }),
  );
  const stepMs = 60_000;
  const nowMs = Math.floor(Date.now() / stepMs) * stepMs;
  const results = Array.from({ length: 1_440 }, (_, n): CheckResult => {
    const atMs = nowMs - n * stepMs;
    const hasFailed = n > 300 && n < 316;
    const wave = 60 + 25 * Math.sin(n / 90) + ((n * 7_919) % 23);
    return {
      checkId,
      location: "local",
      scheduledAtMs: atMs,
      startedAtMs: atMs,
      grade: hasFailed ? "failed" : "ok",
      cause: hasFailed ? "assertion" : null,
      durationMs: hasFailed ? 900 : wave,
      phases: { dns: 2, connect: 6, tls: 14, firstByte: wave - 24, transfer: 2 },
      status: hasFailed ? 503 : 200,
      reason: hasFailed ? "answered 503, expected 200" : null,
      tlsDaysLeft: 61,
    };
  });
  await saveRecords(database, { results });
  await database.end();
}

async function takeRollouts(page: Page): Promise<string[]> {
  await page.getByRole("heading", { level: 1, name: "No rollout yet" }).waitFor();
  await take(page, "rollout-none");
  const first = await roll("v1.8.2", { reason: "OPS-118: connection limits" });
  await rollNow("v1.9.0-slow");
  await showing(page, "v1.9.0-slow", /wave 5/);
  await take(page, "rollout-running");
  await showing(page, "v1.9.0-slow", /Completed/);
  await take(page, "rollout-completed");
  await rollNow("v1.9.1-bad", {
    max_failed: { in_all: 8 },
    reason: "OPS-121: new upstream format",
  });
  await showing(page, "v1.9.1-bad", /Paused/);
  await take(page, "rollout-paused");
  await page.getByRole("button", { name: "Roll back…" }).click();
  await take(page, "rollout-rollback-question");
  await page.getByRole("button", { name: "Go back" }).click();
  const back = await program.call("RollbackAll", {});
  await showing(page, "v1.9.1-bad", /Rolled back/);
  await take(page, "rollout-rolled-back");
  await rollNow("v1.9.2", { soak_seconds: 600 });
  await showing(page, "v1.9.2", /Soaking/);
  await take(page, "rollout-soaking");
  await program.call("Cancel", {});
  await showing(page, "v1.9.2", /Cancelled/);
  await take(page, "rollout-cancelled");
  return [first, String(back.body["rollout_id"])];
}

/** Takes what only an installation with several fleets has. */
async function takeFleets(): Promise<void> {
  await program.stop();
  await program.start({
    ...staging.environment("VEDETTE_FLEETS__STAGING"),
  });
  const promotion = { id: "staging-first", fleet: "singleton", after: "staging" };
  const reason = "OPS-130: a day on staging found the last two faults";
  const { status } = await program.post(`${promotionsName}/Add`, { ...promotion, reason });
  if (status >= 300) throw new Error(`the promotion is refused: ${status}`);
  const page = await openPage();
  await visit(page, "/promotions", "promotions");
  await visit(page, "/fleet?fleet=staging", "fleet-staging");
}

try {
  mkdirSync(folder, { recursive: true });
  const page = await openPage();
  await fillCheck("liveness");
  const [first, second] = await takeRollouts(page);
  // These results fill the minutes since, for the response times beside a rollout's past.
  await fillCheck("liveness");
  const pages: [string, string][] = [
    ["/start", "start"],
    ["/fleet", "fleet"],
    ["/fleet/gw-0005", "sentinel"],
    ["/history", "history"],
    [`/history/${second}`, "past"],
    [`/history/${first}/${second}`, "compare"],
    ["/checks", "checks"],
    ["/checks/liveness", "check"],
    ["/checks/none", "check-missing"],
    ["/windows", "windows"],
    ["/pins", "pins"],
    ["/routes", "routes"],
    ["/keys", "keys"],
    ["/nowhere", "nowhere"],
  ];
  for (const [to, name] of pages) await visit(page, to, name);
  await page.goto(addressOf("/start"));
  await page.getByLabel("Image").fill(image("v1.9.2"));
  await page.getByRole("button", { name: "Show the plan" }).click();
  await page.getByRole("button", { name: "Start this rollout…" }).waitFor();
  await take(page, "plan");
  const stranger = await browser.newPage();
  await stranger.goto(addressOf(""));
  await stranger.getByLabel("Token").waitFor();
  await take(stranger, "sign-in");
  await takeFleets();
} finally {
  await browser.close();
  await program.dispose();
  await fleet.stop();
  await staging.stop();
}
