/** How smoothly the console shows a rollout over 10,000 sentinels, in a real browser. */
import { chromium } from "playwright-core";
import { startProgram } from "../test/support/program/program.ts";
import { startFakeFleet } from "../test/support/rollout/fake-fleet.ts";

const size = 10_000;
const measuredMs = 10_000;

const fleet = await startFakeFleet({ size, behave: () => ({ readyAfterMs: 300 }) });
const program = await startProgram({
  VEDETTE_FLEET__DRIVER: "http",
  VEDETTE_FLEET__HTTP__URL: fleet.url,
  VEDETTE_FLEET__HTTP__TOKEN: fleet.token,
  VEDETTE_ROLLOUT__REQUIRE_IMAGE_IN_REGISTRY: "false",
  VEDETTE_ROLLOUT__MAX_PARALLEL: "200",
});
const executablePath = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });

/** Counts the bytes that are sent to a viewer, from now until the returned function is called. */
async function countBytes(): Promise<() => number> {
  const { control } = program.endpoints();
  const signedIn = await fetch(`${control}/console/api/session`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ token: program.token() }),
  });
  const cookie = signedIn.headers.get("set-cookie")?.split(";")[0] ?? "";
  const { body } = await fetch(`${control}/console/api/live`, { headers: { cookie } });
  let bytes = 0;
  const read = async () => {
    for await (const chunk of body ?? []) bytes += (chunk as Uint8Array).length;
  };
  // It ends with the program.
  void read().catch(() => {});
  return () => bytes;
}

/** Measures the times between the frames of the page, in ms, for this long. */
const frames = `new Promise((resolve) => {
  const times = [];
  const begun = performance.now();
  let last = begun;
  requestAnimationFrame(function next(now) {
    times.push(now - last);
    last = now;
    if (now - begun > ${measuredMs}) resolve(times.slice(1));
    else requestAnimationFrame(next);
  });
})`;

try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 1600 } });
  await page.goto(`${program.endpoints().control}/console`);
  await page.getByLabel("Token").fill(program.token());
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { level: 2, name: "Fleet" }).waitFor();
  const still = (await page.evaluate(frames)) as number[];
  const sent = await countBytes();
  const image = "registry.example.com/vedette/sentinel:v2";
  await program.call("Rollout/send", { image, wave_percentages: [5, 100] });
  await page.getByRole("heading", { level: 1, name: /In progress: wave 2/ }).waitFor();
  const moving = (await page.evaluate(frames)) as number[];
  console.log(`frames with ${size} sentinels shown, of ${measuredMs / 1_000} s each (ms)`);
  for (const [name, times] of Object.entries({ still, moving })) {
    const sorted = times.toSorted((a, b) => a - b);
    const at = (share: number) => sorted[Math.floor(sorted.length * share)]?.toFixed(1);
    console.log(
      `${name.padEnd(8)} ${times.length} frames, p50 ${at(0.5)}, p95 ${at(0.95)}, p99 ${at(0.99)}`,
    );
  }
  await page.getByRole("heading", { level: 1, name: /Completed/ }).waitFor({ timeout: 600_000 });
  console.log(`${sent()} bytes to a viewer of the whole rollout`);
} finally {
  await browser.close();
  await program.dispose();
  await fleet.stop();
}
