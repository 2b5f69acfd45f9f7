/** Kills the program's parts while a rollout soaks, waits, has pins and bounds, or rolls itself back. */
import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { pinsName } from "#rollout/choice/contract.ts";
import { type FakeChat, startFakeChat } from "../../support/alerts/fake-chat.ts";
import { killAndRestart, killings } from "../../support/program/kill-and-restart.ts";
import { type Program, startProgram } from "../../support/program/program.ts";
import { type FakeFleet, startFakeFleet } from "../../support/rollout/fake-fleet.ts";
import { waitFor } from "../../support/wait-for.ts";

const size = 12;
const readyAfterMs = 60;
const soakSeconds = 4;
const freezeSeconds = 5;
const approvals = "after_first";
const approverToken = "of-ben";

const at = (...times: number[]) => killings(times);

let program: Program;
let fleet: FakeFleet;
let chat: FakeChat;
let imageNumber = 1;

beforeAll(async () => {
  fleet = await startFakeFleet({ size, behave: () => ({ readyAfterMs }) });
  chat = await startFakeChat();
  program = await startProgram({
    ...fleet.environment(),
    VEDETTE_ROLLOUT__MAX_PARALLEL: "3",
    VEDETTE_CONTROL__OPERATORS__BEN: createHash("sha256").update(approverToken).digest("hex"),
    VEDETTE_ROLLOUT__REQUIRE_IMAGE_IN_REGISTRY: "false",
    VEDETTE_SLACK__SENTINEL_ROLLOUT_WEBHOOK_URL: chat.url,
    VEDETTE_SLACK__MESSAGE_SPACING_MS: "20",
  });
});

afterAll(async () => {
  await program?.dispose();
  await fleet?.stop();
  await chat?.stop();
});

type Status = Record<string, unknown>;

const untilStatus = (what: string, wanted: (status: Status) => boolean) =>
  waitFor(
    async () => {
      const { body } = await program.call("Status").catch(() => ({ body: {} as Status }));
      return wanted(body) && body;
    },
    { withinMs: 90_000, what },
  );

const nextImage = () => `registry.example.com/vedette/sentinel:p${++imageNumber}`;

/** The titles of a rollout's messages, each once, in the order of their numbers. */
const titlesOf = (rolloutId: unknown) => {
  const byId = new Map(
    chat.messages.map(({ metadata, text }) => [metadata.event_payload.id, text]),
  );
  return [...byId]
    .filter(([id]) => id.startsWith(String(rolloutId)))
    .toSorted(([a], [b]) => Number(a.split("#")[1]) - Number(b.split("#")[1]))
    .map(([, text]) => text);
};

describe("a rollout that soaks", { retry: 0 }, () => {
  it.each(at(0, 1_500))("keeps the time when %j is killed %i ms into it", async (parts, ms) => {
    const image = nextImage();
    const request = { image, wave_percentages: [50, 100], soak_seconds: [soakSeconds, 0] };
    await program.call("Rollout/send", request);
    const soaking = await untilStatus("the soak", (now) => now["waiting_for"] === "soak");
    await delay(ms);

    await killAndRestart(program, parts);

    const end = await untilStatus(
      "the end",
      (now) => now["image"] === image && now["state"] === "completed",
    );
    const orders = fleet.puts.filter((put) => put.image === image);
    const untilMs = Date.parse(String(soaking["until"]));
    expect(end).toMatchObject({ succeeded: size, failed: 0, in_flight: 0 });
    expect(new Set(orders.map(({ deployId }) => deployId)).size).toBe(size);
    expect(new Set(orders.filter(({ atMs }) => atMs < untilMs).map(({ id }) => id)).size).toBe(
      size / 2,
    );
  });
});

describe("a rollout that waits for a freeze to end", { retry: 0 }, () => {
  it.each(at(0, 1_500))("starts at its end when %j is killed %i ms into it", async (parts, ms) => {
    const image = nextImage();
    const ends = new Date(Date.now() + freezeSeconds * 1_000).toISOString();
    const freeze = { id: `until-${imageNumber}`, kind: "freeze", ends, reason: "a test" };
    expect(await program.post("vedette.v1.RolloutWindows/Add", freeze)).toMatchObject({
      status: 200,
    });
    await program.call("Rollout/send", { image, wave_percentages: [100] });
    await untilStatus("the wait", (now) => now["waiting_for"] === "window");
    await delay(ms);

    await killAndRestart(program, parts);

    const end = await untilStatus(
      "the end",
      (now) => now["image"] === image && now["state"] === "completed",
    );
    const orders = fleet.puts.filter((put) => put.image === image);
    expect(end).toMatchObject({ succeeded: size, failed: 0, in_flight: 0 });
    expect(new Set(orders.map(({ deployId }) => deployId)).size).toBe(size);
    expect(orders.filter(({ atMs }) => atMs < Date.parse(ends))).toEqual([]);
  });
});

describe("a rollout that waits for an approval", { retry: 0 }, () => {
  it.each(at(0, 1_500))("keeps waiting when %j is killed %i ms into it", async (parts, ms) => {
    const image = nextImage();
    await program.call("Rollout/send", { image, wave_percentages: [50, 100], approvals });
    await untilApprovalOf(image);
    await delay(ms);

    await killAndRestart(program, parts);

    await untilApprovalOf(image);
    expect(fleet.puts.filter((put) => put.image === image)).toHaveLength(size / 2);
    await approve();
    expectWhole(image, await untilCompleted(image));
  });

  it.each(at(0, 60))("has it when %j is killed %i ms after it was given", async (parts, ms) => {
    const image = nextImage();
    await program.call("Rollout/send", { image, wave_percentages: [50, 100], approvals });
    await untilApprovalOf(image);
    await approve();
    await delay(ms);

    await killAndRestart(program, parts);

    const end = await untilCompleted(image);
    expectWhole(image, end);
    expect(end["approved"]).toMatchObject([{ wave: 2, by: "ben" }]);
  });
});

const untilApprovalOf = (image: string) =>
  untilStatus(
    "the wait for an approval",
    (now) => now["image"] === image && now["waiting_for"] === "approval",
  );

const untilCompleted = (image: string) =>
  untilStatus("the end", (now) => now["image"] === image && now["state"] === "completed");

async function approve(): Promise<void> {
  expect(await program.callAs(approverToken, "Approve")).toMatchObject({ status: 200 });
}

/** Every sentinel was ordered to run it once. */
function expectWhole(image: string, end: Status): void {
  const orders = fleet.puts.filter((put) => put.image === image);
  expect(end).toMatchObject({ succeeded: size, failed: 0, in_flight: 0 });
  expect(new Set(orders.map(({ deployId }) => deployId)).size).toBe(size);
}

describe("a rollout that takes two at a time and leaves out what is pinned", { retry: 0 }, () => {
  it.each(at(0, 150, 600))("does so when %j is killed %i ms into it", async (parts, ms) => {
    const image = nextImage();
    const pin = { id: `pin-${imageNumber}`, ids: ["gw-0003"], reason: "a test" };
    expect(await program.post(`${pinsName}/Add`, pin)).toMatchObject({ status: 200 });
    const request = { image, wave_percentages: [50, 100], max_unavailable: 2 };
    await program.call("Rollout/send", request);
    await waitFor(() => fleet.puts.some((put) => put.image === image), {
      withinMs: 60_000,
      what: "the first deploy",
    });
    await delay(ms);

    await killAndRestart(program, parts);

    const end = await untilStatus(
      "the end",
      (now) => now["image"] === image && now["state"] === "completed",
    );
    const orders = fleet.puts.filter((put) => put.image === image);
    await program.post(`${pinsName}/Remove`, { id: pin.id, reason: "a test" });
    expect(end).toMatchObject({ succeeded: size - 1, failed: 0, in_flight: 0, left_out: 1 });
    expect(orders.map(({ id }) => id)).not.toContain("gw-0003");
    expect(new Set(orders.map(({ deployId }) => deployId)).size).toBe(size - 1);
    expect(mostAtOnce(orders)).toBeLessThanOrEqual(2);
  });
});

/** How many deploys the fleet had in progress at one time. */
function mostAtOnce(orders: readonly { deployId: string; atMs: number }[]): number {
  const begun = new Map(orders.toReversed().map(({ deployId, atMs }) => [deployId, atMs]));
  const starts = [...begun.values()];
  return Math.max(
    ...starts.map(
      (at) => starts.filter((other) => other <= at && at < other + readyAfterMs).length,
    ),
  );
}

describe("a rollout that rolls itself back", { retry: 0 }, () => {
  it.each(at(0, 100, 400))("does so when %j is killed %i ms after it failed", async (parts, ms) => {
    const image = nextImage();
    const before = new Map(fleet.running());
    let failed = 0;
    fleet.behave((id, wanted) => {
      const isBad = wanted === image && id > "gw-0008";
      if (isBad) failed++;
      return isBad ? { failAfterMs: 30, reason: "crash_loop: exit code 1" } : { readyAfterMs };
    });
    const request = {
      image,
      wave_percentages: [100],
      on_failure: "rollback",
      max_failed: { in_all: 0 },
    };
    await program.call("Rollout/send", request);
    await waitFor(() => failed > 0, { withinMs: 60_000, what: "a failing deploy" });
    await delay(ms);

    await killAndRestart(program, parts);

    const end = await untilStatus(
      "the rollback",
      (now) => now["image"] === image && now["outcome"] === "rolled_back",
    );
    expect(end).toMatchObject({ state: "cancelled", succeeded: 0, in_flight: 0, cause: "budget" });
    expect(fleet.running()).toEqual(before);
    await waitFor(() => titlesOf(end["rollout_id"]).length >= 5, {
      withinMs: 30_000,
      what: "all messages",
    });
    expect(titlesOf(end["rollout_id"])).toEqual(
      [
        "Rollout started",
        "Wave started",
        "Rollout paused",
        "Rollback started",
        "Rollback completed",
      ].map((title) => expect.stringContaining(title)),
    );
    fleet.behave(() => ({ readyAfterMs }));
  });
});
