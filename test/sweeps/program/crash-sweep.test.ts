/** Kills the program's parts at many points of a rollout, and looks at what is left afterwards. */
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type FakeChat, startFakeChat } from "../../support/alerts/fake-chat.ts";
import { killAndRestart, killings } from "../../support/program/kill-and-restart.ts";
import { type Program, startProgram } from "../../support/program/program.ts";
import { type FakeFleet, startFakeFleet } from "../../support/rollout/fake-fleet.ts";
import { waitFor } from "../../support/wait-for.ts";

const size = 40;

/** What is killed, and how long after the rollout began: in every wave, and between them. */
const kills = killings([50, 300, 700, 1_200]);

let program: Program;
let fleet: FakeFleet;
let chat: FakeChat;
let imageNumber = 1;

beforeAll(async () => {
  fleet = await startFakeFleet({ size, behave: () => ({ readyAfterMs: 60 }) });
  chat = await startFakeChat();
  program = await startProgram({
    VEDETTE_ANALYTICS__ENABLED: "true",
    ...fleet.environment(),
    VEDETTE_ROLLOUT__MAX_PARALLEL: "5",
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

const statusOnce = async () => (await program.call("Status")).body;

const untilState = (state: string, rolloutId: unknown) =>
  waitFor(
    async () => {
      const status = await statusOnce();
      return status["rollout_id"] === rolloutId && status["state"] === state && status;
    },
    { withinMs: 60_000, what: `state ${state}` },
  );

const begin = async (image: string) => {
  await program.call("Rollout/send", { image, wave_percentages: [10, 50, 100] });
  const status = await waitFor(
    async () => {
      const now = await statusOnce();
      return now["image"] === image && now;
    },
    { withinMs: 30_000, what: "the rollout to begin" },
  );
  return status["rollout_id"] as string;
};

/** The messages of a rollout in the order in which they came; a repetition counts once. */
const messagesOf = (rolloutId: string) => {
  const byId = new Map(
    chat.messages.map(({ metadata, text }) => [metadata.event_payload.id, text]),
  );
  return [...byId]
    .filter(([id]) => id.startsWith(rolloutId))
    .map(([id, text]) => ({ number: Number(id.split("#")[1]), text }));
};

/** What is told of a rollout of three waves. */
const transitions = [
  "Rollout started",
  ...Array.from({ length: 3 }, () => ["Wave started", "Wave completed"]).flat(),
  "Rollout completed",
];

describe("a rollout whose servers are killed", { retry: 0 }, () => {
  it.each(kills)("goes on to its end when %j is killed after %i ms", async (parts, afterMs) => {
    const image = `registry.example.com/vedette/sentinel:c${++imageNumber}`;
    const rolloutId = await begin(image);
    await delay(afterMs);

    await killAndRestart(program, parts);

    const status = await untilState("completed", rolloutId);
    expect(status).toMatchObject({ total: size, succeeded: size, failed: 0, in_flight: 0 });
    expect(new Set(fleet.running().values())).toEqual(new Set([image]));
  });

  it("rolls every sentinel back although all is killed in the middle of the rollback", async () => {
    const before = new Map(fleet.running());
    fleet.behave((id) =>
      id === "gw-0040"
        ? { failAfterMs: 30, reason: "crash_loop: exit code 1" }
        : { readyAfterMs: 60 },
    );
    const rolloutId = await begin("registry.example.com/vedette/sentinel:bad");
    const paused = await untilState("paused", rolloutId);
    fleet.behave(() => ({ readyAfterMs: 60 }));
    await program.call("RollbackAll/send");
    await untilState("rolling_back", rolloutId);

    await killAndRestart(program, ["main", "restate", "postgres"]);

    const status = await untilState("cancelled", rolloutId);
    expect(Number(paused["succeeded"])).toBeGreaterThan(0);
    expect(status).toMatchObject({ succeeded: 0, in_flight: 0 });
    expect(fleet.running()).toEqual(before);
  });

  it("keeps every rollout in history, as it ended", async () => {
    const history = await waitFor(
      async () => {
        const { body } = await program.call("History", { limit: 100 });
        const rollouts = body["rollouts"] as { state: string; succeeded: number }[];
        const isWritten = rollouts.every(({ state }) => ["completed", "cancelled"].includes(state));
        return rollouts.length === kills.length + 1 && isWritten && rollouts;
      },
      { withinMs: 30_000, what: "history to be written" },
    );

    expect(history.filter(({ succeeded }) => succeeded === size)).toHaveLength(kills.length);
  });

  it("has sent every transition's message, in order", async () => {
    const { body } = await program.call("History", { limit: 100 });
    const rollouts = body["rollouts"] as { rollout_id: string; state: string }[];
    const completed = rollouts.filter(({ state }) => state === "completed");

    await waitFor(
      () =>
        completed.every(({ rollout_id }) => messagesOf(rollout_id).length === transitions.length),
      { withinMs: 30_000, what: "all messages" },
    );

    for (const { rollout_id } of completed) {
      const numbers = messagesOf(rollout_id).map(({ number }) => number);
      expect(messagesOf(rollout_id).map(({ text }) => text)).toEqual(
        transitions.map((words) => expect.stringContaining(words)),
      );
      expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
    }
    expect(chat.faults).toEqual([]);
  });
});
