/** Every page as it is to be: for everyone, from nowhere else, quick, and on a phone. */
import { request } from "undici";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type ConsoleProgram,
  findBarriers,
  startConsoleProgram,
} from "../../support/program/console-browser.ts";
import { type FakeFleet, startFakeFleet } from "../../support/rollout/fake-fleet.ts";
import { hasBrowser, openPage } from "../../support/servers/browser.ts";
import { waitFor } from "../../support/wait-for.ts";

/** Colours are all in which the second differs. */
const themes = [
  { theme: "Light", rules: undefined },
  { theme: "Dark", rules: ["color-contrast"] },
];
/** A phone, and a desk. */
const widths = [360, 1_440];

let console: ConsoleProgram;
let staging: FakeFleet;
let paths: string[];

beforeAll(async () => {
  if (!hasBrowser) return;
  staging = await startFakeFleet({ size: 4, token: "token-of-staging" });
  console = await startConsoleProgram(
    { size: 30, behave: () => ({ readyAfterMs: 20 }) },
    {
      ...staging.environment("VEDETTE_FLEETS__STAGING"),
    },
  );
  const rollouts: string[] = [];
  for (const version of ["v2", "v3"]) {
    const image = `registry.example.com/vedette/sentinel:${version}`;
    const { body } = await console.program.call("Rollout", { image, wave_percentages: [50, 100] });
    rollouts.push(String(body["rollout_id"]));
  }
  const [first, second] = rollouts;
  const history = [`/history/${first}`, `/history/${first}/${second}`];
  const checks = ["/checks/liveness", "/checks/quota-check"];
  paths = [
    "",
    "/start",
    "/fleet",
    "/fleet?state=failed&region=eu",
    "/fleet/gw-0005",
    "/windows",
    "/pins",
    "/promotions",
    "/history",
    ...history,
    "/checks",
    ...checks,
    "/routes",
    "/keys",
    "/engine",
    "/fleet?fleet=staging",
    // What is not there.
    ...["/checks/nope", "/history/nope", "/keys?workspace=nope", "/routes?source=nope", "/nope"],
  ];
});

afterAll(async () => {
  await console?.stop();
  await staging?.stop();
});

type Page = Awaited<ReturnType<typeof openPage>>["page"];

/** Until the page has read what it shows. */
async function settled(page: Page): Promise<void> {
  await page.getByRole("heading", { level: 1 }).waitFor();
  await waitFor(async () => (await page.getByText(/^(?:Reading|Drawing)…$/).count()) === 0, {
    withinMs: 20_000,
    what: "the page to have read everything",
  });
}

describe.skipIf(!hasBrowser)("every page", () => {
  it.each(themes)(
    "has no barriers in the $theme theme, on a phone and at a desk",
    async ({ theme, rules }) => {
      const { page, address } = await console.open();
      await page.getByLabel("Colours").selectOption({ label: theme });

      const barriers: string[] = [];
      for (const path of paths) {
        await page.goto(`${address}${path}`);
        await settled(page);
        for (const width of widths) {
          await page.setViewportSize({ width, height: 800 });
          const found = await findBarriers(page, rules);
          barriers.push(...found.map((barrier) => `${path} at ${width}: ${barrier}`));
        }
      }

      expect(barriers).toEqual([]);
    },
  );

  it("uses a window of 2560 pixels, with no line of more than some 75 characters", async () => {
    const { page, address } = await console.open();
    await page.setViewportSize({ width: 2_560, height: 1_300 });

    const unused: string[] = [];
    const long: unknown[] = [];
    for (const path of paths) {
      await page.goto(`${address}${path}`);
      await settled(page);
      const content = await page.getByRole("main").boundingBox();
      if ((content?.width ?? 0) < 2_400) unused.push(path);
      long.push(...((await page.evaluate(longLines)) as unknown[]));
    }

    expect(unused).toEqual([]);
    expect(long).toEqual([]);
  });

  it("fits into a window of 360 pixels, asks no other host, and breaks its policy nowhere", async () => {
    const { page, address, requests, complaints } = await console.open();
    await page.setViewportSize({ width: 360, height: 700 });
    const { host } = new URL(address);

    const widths: [string, unknown][] = [];
    for (const path of paths) {
      await page.goto(`${address}${path}`);
      await settled(page);
      // Also while it connects, which is the longest word there.
      await page.evaluate('document.querySelector(".connection").lastChild.data = "Connecting"');
      widths.push([path, await page.evaluate("document.documentElement.scrollWidth")]);
    }

    expect(widths.filter(([, width]) => width !== 360)).toEqual([]);
    const hosts = new Set(requests.map((url) => new URL(url).host || "inline"));
    hosts.delete("inline");
    expect([...hosts]).toEqual([host]);
    // The first question, who is signed in, is answered 401, and what is not there 400 or 404: that is not a fault.
    expect(complaints.filter((line) => !/status of 40[014]/.test(line))).toEqual([]);
  });

  it("is reached and left by the keyboard alone", async () => {
    const { page } = await console.open();
    await page.keyboard.press("Tab");
    const first = await page.evaluate("document.activeElement.textContent");

    const reached: unknown[] = [];
    for (let n = 0; n < 10; n += 1) {
      await page.keyboard.press("Tab");
      reached.push(await page.evaluate("document.activeElement.textContent"));
    }
    await page.getByRole("link", { name: "Checks" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 2, name: "API checks" }).waitFor();

    expect(first).toBe("Skip to the content");
    expect(reached).toEqual(expect.arrayContaining(["Rollout", "History", "Checks", "Keys"]));
  });
});

/** The paragraphs of the page that are wider than 80 times its digit 0. */
const longLines = `[...document.querySelectorAll("main p")].flatMap((line) => {
  const rule = document.createElement("span");
  rule.textContent = "0".repeat(80);
  rule.style.cssText = "position: absolute; white-space: nowrap";
  line.append(rule);
  const most = rule.getBoundingClientRect().width;
  rule.remove();
  return line.getBoundingClientRect().width > most ? [line.textContent] : [];
})`;

describe.skipIf(!hasBrowser)("the page of a sign-in", () => {
  it.each(["light", "dark"] as const)("has no barriers in the %s theme", async (colorScheme) => {
    const { page } = await openPage({ colorScheme });
    await page.setViewportSize({ width: 360, height: 800 });
    await page.goto(`${console.program.endpoints().control}/console`);
    await page.getByLabel("Token").waitFor();

    expect(await findBarriers(page)).toEqual([]);
  });
});

describe.skipIf(!hasBrowser)("the first view", () => {
  it("comes in less than 60 kB", async () => {
    const { page, requests } = await openPage();
    await page.goto(`${console.program.endpoints().control}/console`);
    await page.getByLabel("Token").fill(console.program.token());
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { level: 2, name: "Fleet" }).waitFor();

    const files = requests.filter((url) => /\/console$|\/assets\//.test(url));
    const sizes = await Promise.all(files.map(sizeOf));

    expect(files.length).toBeGreaterThan(2);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(60_000);
  });
});

/** In bytes, as a browser gets it. */
async function sizeOf(url: string): Promise<number> {
  const { body } = await request(url, { headers: { "accept-encoding": "br, gzip" } });
  return (await body.arrayBuffer()).byteLength;
}

describe.skipIf(!hasBrowser)("checks", () => {
  it("are run, muted and put under maintenance by clicks", async () => {
    const { page } = await console.open("/checks/liveness");

    await page.getByRole("button", { name: "Run now" }).click();
    await page.getByText(/^local: ok in /).waitFor();
    await page.getByRole("button", { name: "Mute…" }).click();
    await page.getByRole("button", { name: "Mute for 2 hours" }).click();
    await page.getByText(/^Quiet until .+, by the ingress token \(no operator\)\.$/).waitFor();
    await page.getByRole("button", { name: "Unmute…" }).click();
    await page.getByRole("button", { name: "Unmute", exact: true }).click();
    await page.getByRole("button", { name: "Mute…" }).waitFor();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.getByLabel("Reason").fill("database upgrade");
    await page.getByRole("button", { name: "Start maintenance…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Start maintenance" }).click();

    await page.getByText(/^Quiet until /).waitFor();
  });

  it("show no answer to an earlier request while the current one has none", async () => {
    const { page } = await console.open("/checks/liveness");
    const times = page.getByRole("region", { name: "Response time" });
    const charts = times.getByText(/^(?:Phases|No results in this)/);
    await charts.waitFor();

    await page.route("**/*.CheckReads/Chart", (route) => route.abort());
    await times.getByLabel("3 hours").check();
    await times.getByText("The server does not answer").waitFor();

    expect(await charts.count()).toBe(0);
  });

  it("show the next operator no confirmation of the one before", async () => {
    const { page } = await console.open("/checks/liveness");
    await page.getByRole("button", { name: "Mute…" }).click();
    await page.getByRole("dialog").waitFor();

    await page.context().clearCookies();
    await page.getByLabel("Token").fill(console.program.token());
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("button", { name: "Mute…" }).waitFor();

    expect(await page.getByRole("dialog").count()).toBe(0);
  });

  it("without a channel say that they page nobody", async () => {
    const { page } = await console.open("/checks/quota-check");

    await page.getByText("This heartbeat alerts nobody: it has no channel.").waitFor();
  });
});

describe.skipIf(!hasBrowser)("alert routes", () => {
  it("show whom an alert pages, and that another is dropped", async () => {
    const { page } = await console.open("/routes");
    await page
      .getByText("Paged nobody (incident.url is not set; later Engineering On-Call)")
      .waitFor();

    await page.getByLabel("severity").selectOption("info");

    await page
      .getByText("Nobody is notified: no route takes this alert, so it is dropped.")
      .waitFor();
  });
});
