/** Two fleets of one program: by the command line, the console, the settings' operators and a restart without one. */
import { createHash } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { runVedette } from "../../support/program/command.ts";
import {
  type ConsoleProgram,
  heading,
  startConsoleProgram,
} from "../../support/program/console-browser.ts";
import { type FakeFleet, startFakeFleet } from "../../support/rollout/fake-fleet.ts";
import { hasBrowser, openPage } from "../../support/servers/browser.ts";
import { waitFor } from "../../support/wait-for.ts";

const image = (version: string) => `registry.example.com/vedette/sentinel:${version}`;
const tokenOf = (name: string) => `token-of-${name}`;
const hashOf = (name: string) => createHash("sha256").update(tokenOf(name)).digest("hex");

let staging: FakeFleet;
let console: ConsoleProgram;
let withoutStaging: Record<string, undefined>;

beforeAll(async () => {
  staging = await startFakeFleet({ size: 4, token: "token-of-staging" });
  const ofStaging = {
    ...staging.environment("VEDETTE_FLEETS__STAGING"),
    VEDETTE_FLEETS__STAGING__OPERATORS: "ada",
  };
  withoutStaging = Object.fromEntries(Object.keys(ofStaging).map((name) => [name, undefined]));
  console = await startConsoleProgram(
    { size: 3 },
    {
      ...ofStaging,
      VEDETTE_CONTROL__OPERATORS__ADA: hashOf("ada"),
      VEDETTE_CONTROL__OPERATORS__BEN: hashOf("ben"),
    },
  );
});

afterAll(async () => {
  await console.stop();
  await staging.stop();
});

const rollout = (fleet: string, handler: string, body: object = {}, as?: string) =>
  console.program.post(`vedette.v1.SentinelRolloutService/${fleet}/${handler}`, body, as);

const vedette = (...words: string[]) =>
  runVedette([...words, "--data-dir", console.program.dataDir]);

beforeEach(async () => {
  staging.behave(() => ({ readyAfterMs: 0 }));
  await rollout("staging", "Cancel");
});

describe("the command line", () => {
  it("rolls out to two fleets at once, and says which of them has paused and what to do", async () => {
    staging.behave(() => ({ failAfterMs: 0, reason: "crash_loop: exit code 1" }));

    const [failed, done] = await Promise.all([
      vedette("rollout", "start", image("v2"), "--fleet", "staging", "--waves", "50,100", "--wait"),
      vedette("rollout", "start", image("v2"), "--wait"),
    ]);

    expect([failed.code, done.code]).toEqual([2, 0]);
    expect(failed.stdout).toContain("fleet      staging");
    expect(failed.stdout).toContain("staging:gw-000");
    expect(failed.stdout).toContain("npx vedette rollout rollback --fleet staging");
    expect(done.stdout).not.toContain("--fleet");
  });

  it("lists the sentinels of the fleet that VEDETTE_FLEET names", async () => {
    const list = await runVedette(
      ["sentinels", "list", "--json", "--data-dir", console.program.dataDir],
      { VEDETTE_FLEET: "staging" },
    );

    const { sentinels } = JSON.parse(list.stdout) as { sentinels: { id: string }[] };
    expect(sentinels.map(({ id }) => id)).toEqual([1, 2, 3, 4].map((n) => `staging:gw-000${n}`));
  });

  it("adds, lists and removes a promotion, which refuses a rollout meanwhile", async () => {
    const reason = ["--reason", "a test"];
    const of = ["--fleet", "singleton", "--after", "staging"];
    const added = await vedette("promotions", "add", "staging-first", ...of, ...reason);
    const listed = await vedette("promotions", "list");
    const plan = await vedette("rollout", "plan", image("v3"));
    const refused = await vedette("rollout", "start", image("v3"));
    const removed = await vedette("promotions", "remove", "staging-first", ...reason);

    expect([added.code, listed.code, plan.code, refused.code, removed.code]).toEqual([
      0, 0, 0, 1, 0,
    ]);
    expect(added.stdout).toContain("singleton takes an image once staging has completed it");
    expect(listed.stdout).toContain("staging-first");
    expect(plan.stdout).toContain("staging has not completed it");
    expect(refused.stderr).toContain("staging has not completed it");
  });
});

it("the fleet's operators alone change its rollouts, and everybody may look", async () => {
  const answers = await Promise.all([
    rollout("staging", "Pause", {}, tokenOf("ben")),
    rollout("staging", "Status", {}, tokenOf("ben")),
    rollout("singleton", "Pause", {}, tokenOf("ben")),
    rollout("staging", "Pause", {}, tokenOf("ada")),
  ]);

  expect(answers.map(({ status }) => status)).toEqual([403, 200, 409, 409]);
  expect(answers[0]?.body).toMatchObject({ code: "not_an_operator" });
});

it("the metrics have the state of each fleet's rollout", async () => {
  await rollout("staging", "Rollout", { image: image("v4") });

  const { metrics } = console.program.endpoints();
  const text = await (await fetch(`${metrics}/metrics`)).text();
  expect(text).toContain('vedette_fleet_sentinels{fleet="staging"} 4');
  expect(text).toContain('vedette_fleet_sentinels{fleet="singleton"} 3');
  expect(text).toContain('vedette_rollout_state{fleet="staging",state="completed"} 1');
});

describe.skipIf(!hasBrowser)("the console", () => {
  it("switches between fleets, and keeps the fleet in the address and in the title", async () => {
    await rollout("staging", "Rollout", { image: image("v5") });
    await rollout("singleton", "Rollout", { image: image("v6") });
    const { page } = await console.open();

    await page.getByText(image("v6")).first().waitFor();
    await page.getByRole("combobox", { name: "Fleet" }).selectOption("staging");
    await page.getByText(image("v5")).first().waitFor();
    await page.getByRole("link", { name: "History", exact: true }).click();
    await page
      .getByRole("cell", { name: image("v5") })
      .first()
      .waitFor();
    const [url, title] = [page.url(), await page.title()];
    await page.reload();
    await page
      .getByRole("cell", { name: image("v5") })
      .first()
      .waitFor();
    const others = await page.getByRole("cell", { name: image("v6") }).count();

    expect(url).toMatch(/\/console\/history\?fleet=staging$/);
    expect(title).toContain("staging");
    expect(others).toBe(0);
  });

  it("fits into a window of 360 pixels, although its navigation has another page", async () => {
    const { page, address } = await console.open("/promotions");
    await page.setViewportSize({ width: 360, height: 700 });
    await heading(page, "Promotions");
    const links = page.getByRole("navigation", { name: "Pages" }).getByRole("link");
    const boxes = await Promise.all((await links.all()).map((link) => link.boundingBox()));

    const width = await page.evaluate("document.documentElement.scrollWidth");
    await page.getByRole("banner").getByLabel("Fleet").selectOption("staging");
    await page.getByRole("link", { name: "History", exact: true }).click();
    await heading(page, "History");

    expect(width).toBe(360);
    expect(boxes.every((box) => box !== null && box.x >= 0 && box.x + box.width <= 360)).toBe(true);
    expect(page.url()).toBe(`${address}/history?fleet=staging`);
  });

  it("offers no row to whoever is not among the operators of its fleet", async () => {
    const pin = (id: string, fleet: object) => ({
      id,
      ids: ["gw-0001"],
      reason: "a test",
      ...fleet,
    });
    const pins = (handler: string, body: object) =>
      console.program.post(`vedette.v1.RolloutPins/${handler}`, body);
    await pins("Add", pin("of-one", { fleet: "singleton" }));
    await pins("Add", pin("of-every", {}));
    const { page } = await openPage();
    const address = `${console.program.endpoints().control}/console`;
    await page.goto(address);
    await page.getByLabel("Token").fill(tokenOf("ben"));
    await page.keyboard.press("Enter");
    await page.getByRole("navigation", { name: "Pages" }).waitFor();

    await page.goto(`${address}/pins`);
    await page.getByRole("row", { name: /of-every/ }).waitFor();
    const removable = await page.getByRole("button", { name: /^Remove / }).allTextContents();
    const scopes = await page.getByLabel("Holds for").getByRole("option").allTextContents();
    const named = await page.getByRole("button", { name: "Remove of-one…" }).count();
    await page.goto(`${address}/pins?fleet=staging`);
    await page.getByText("The settings name other operators of this fleet.").waitFor();
    const forms = await page.getByRole("button", { name: "Add the pin" }).count();
    await page.goto(`${address}/promotions`);
    const waiting = page.getByRole("main").getByRole("combobox", { name: "Fleet" });
    await waiting.waitFor();
    const offered = await waiting.getByRole("option").allTextContents();
    for (const id of ["of-one", "of-every"]) await pins("Remove", { id, reason: "a test" });

    expect([removable.length, named, forms]).toEqual([1, 1, 0]);
    expect(scopes).toEqual(["This fleet, default"]);
    expect(offered).toEqual(["default"]);
  });

  it("leads from a page of one fleet to the list of the other one", async () => {
    const { page } = await console.open("/fleet/gw-0001");
    await heading(page, "gw-0001");

    await page.getByRole("banner").getByLabel("Fleet").selectOption("staging");

    await heading(page, "Fleet");
    expect(page.url()).toMatch(/\/console\/fleet\?fleet=staging$/);
  });

  it("starts a rollout of the fleet that it shows", async () => {
    const { page } = await console.open("/?fleet=staging");
    const before = (await rollout("singleton", "Status")).body["rollout_id"];

    await page.getByRole("link", { name: "New rollout…" }).click();
    await page.getByLabel("Image").fill(image("v7"));
    await page.getByRole("button", { name: "Show the plan" }).click();
    await page.getByRole("button", { name: "Start this rollout…" }).click();
    await page.getByRole("button", { name: "Start the rollout" }).click();
    await heading(page, /completed/i);

    expect((await rollout("staging", "Status")).body).toMatchObject({ image: image("v7") });
    expect((await rollout("singleton", "Status")).body["rollout_id"]).toBe(before);
  });

  it("adds a pin for this fleet or for every one, and a promotion", async () => {
    const { page } = await console.open("/pins?fleet=staging");

    await page.getByLabel("Name").fill("of-staging");
    await page.getByLabel("By region").fill("eu");
    await page.getByLabel("Reason").fill("a test");
    await page.getByRole("button", { name: "Add the pin" }).click();
    await page.getByRole("row", { name: /of-staging.*staging/ }).waitFor();
    await page.getByLabel("Name").fill("of-all");
    await page.getByLabel("By region").fill("us");
    await page.getByLabel("Reason").fill("a test");
    await page.getByLabel("Holds for").selectOption("all");
    await page.getByRole("button", { name: "Add the pin" }).click();
    await page.getByRole("row", { name: /of-all.*every one/ }).waitFor();
    await page.getByRole("link", { name: "Promotions", exact: true }).click();
    await page.getByLabel("Name").fill("first-staging");
    await page.getByLabel("Reason").fill("a test");
    await page.getByRole("button", { name: "Add the promotion" }).click();
    await page.getByRole("row", { name: /first-staging.*default.*staging/ }).waitFor();

    const reason = "a test";
    const remove = (service: string, id: string) =>
      console.program.post(`vedette.v1.${service}/Remove`, { id, reason });
    const removed = [
      await remove("RolloutPins", "of-staging"),
      await remove("RolloutPins", "of-all"),
      await remove("RolloutPromotions", "first-staging"),
    ];
    expect(removed.map(({ body }) => body["fleet"])).toEqual(["staging", undefined, "singleton"]);
  });
});

it("a fleet that the settings have lost has its rollout paused, and Cancel ends it", async () => {
  staging.behave(() => "hang");
  await rollout("staging", "Rollout/send", { image: image("v8"), wave_percentages: [100] });
  const inFlight = async () =>
    ((await rollout("staging", "Status")).body["in_flight"] as number) > 0;
  await waitFor(inFlight, { withinMs: 10_000, what: "deploys in flight" });

  await console.program.stop();
  await console.program.start(withoutStaging);
  const paused = async () => {
    const { body } = await rollout("staging", "Status");
    return body["state"] === "paused" && body;
  };
  const status = await waitFor(paused, { withinMs: 60_000, what: "the pause" });
  const cancelled = await rollout("staging", "Cancel");
  const started = await rollout("staging", "Rollout", { image: image("v9") });

  expect(status).toMatchObject({ cause: "fleet" });
  expect(cancelled.body).toMatchObject({ state: "cancelled" });
  expect(started.status).toBe(404);
});
