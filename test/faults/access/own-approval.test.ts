/** Whoever has started a rollout of the real program does not let its next wave go, by any address, name or operation. */
import { createHash } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Program, startProgram } from "../../support/program/program.ts";
import { waitFor } from "../../support/wait-for.ts";

const digest = (token: string) => createHash("sha256").update(token).digest("hex");

let program: Program;

beforeAll(async () => {
  program = await startProgram({
    VEDETTE_FLEET__PROCESS__SIZE: "2",
    VEDETTE_ROLLOUT__APPROVALS: "after_first",
    VEDETTE_CONTROL__OPERATORS__ADA__TOKEN: digest("of-ada"),
    VEDETTE_CONTROL__OPERATORS__ADA__ROLES: "read,operate,approve",
    VEDETTE_CONTROL__OPERATORS__BEN__TOKEN: digest("of-ben"),
    VEDETTE_CONTROL__OPERATORS__BEN__ROLES: "read,operate,approve",
  });
});

afterAll(() => program?.dispose());

const rollout = "/vedette.v1.SentinelRolloutService/singleton";
const status = async () => (await program.call("Status")).body;
const untilWaiting = () =>
  waitFor(async () => (await status())["waiting_for"] === "approval", {
    withinMs: 60_000,
    what: "the rollout to wait for an approval",
  });

const placesOf = () => {
  const { control, restate_ingress, restate_admin } = program.endpoints();
  return [control, `${restate_ingress}`, `${restate_admin}/ingress`];
};

type Call = { token: string; path: string; body?: object; headers?: Record<string, string> };

const send = async (place: string, { token, path, body = {}, headers = {} }: Call) => {
  const answer = await fetch(`${place}${path}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      ...headers,
    },
    body: JSON.stringify(body),
  });
  return { status: answer.status, text: await answer.text() };
};

const asBen = {
  "x-vedette-actor": "ben",
  "x-vedette-actor-proof": "A".repeat(43),
  "x-vedette-accounts": "account-of-ben",
};

/** By ada, unless a token is given; each is made at each address. */
const attacks: [what: string, call: Partial<Call> & { path: string }][] = [
  ["an approval", { path: `${rollout}/Approve` }],
  ["an approval that names ben", { path: `${rollout}/Approve`, headers: asBen }],
  ["one in a body that names ben", { path: `${rollout}/Approve`, body: { by: "ben" } }],
  [
    "one with ben's key of idempotency",
    { path: `${rollout}/Approve`, headers: { "idempotency-key": "k-1" } },
  ],
  ["one that is sent", { path: `${rollout}/Approve/send` }],
  [
    "one by the shared token in ben's name",
    { path: `${rollout}/Approve`, token: "", headers: asBen },
  ],
  ["one by Restate's own way", { path: `/restate/call${rollout}/Approve` }],
  ["a skip", { path: `${rollout}/Skip`, body: { reason: "in a hurry" } }],
  [
    "a skip of what it waits for",
    { path: `${rollout}/Skip`, body: { reason: "x", waiting_for: "soak" } },
  ],
  ["a resume", { path: `${rollout}/Resume` }],
  ["a second rollout", { path: `${rollout}/Rollout`, body: { image: "vedette/sentinel:v2" } }],
  [
    "a pin that is no one's",
    { path: "/vedette.v1.RolloutPins/Add", body: { id: "p", ids: ["x"], reason: "x" } },
  ],
  ["an inner handler", { path: `${rollout}/startResume`, body: { by: "ben", isSigned: true } }],
  ["a wake of its run", { path: `${rollout}/wake`, body: {} }],
];

it("the second wave waits for another one, whatever its starter calls", async () => {
  const begun = program.callAs("of-ada", "Rollout", {
    image: "vedette/sentinel:v2",
    wave_percentages: [50, 100],
  });
  await untilWaiting();
  const answers: Record<string, number[]> = {};
  for (const [what, { token = "of-ada", ...call }] of attacks) {
    answers[what] = [];
    for (const place of placesOf()) {
      const as = token === "" ? program.token() : token;
      answers[what].push((await send(place, { ...call, token: as })).status);
    }
    await untilWaiting();
    expect([what, await status()]).toMatchObject([what, { current_wave: 1, succeeded: 1 }]);
  }
  await program.callAs("of-ada", "Pause");
  const resumed = program.callAs("of-ada", "Resume", { retry_failed: true });
  await untilWaiting();
  const taken = Object.entries(answers).filter(([, all]) => all.some((one) => one < 400));
  expect(taken.map(([what]) => what)).toEqual(["one that is sent", "a pin that is no one's"]);

  const approved = await program.callAs("of-ben", "Approve");

  expect(approved.status).toBe(200);
  expect((await status())["approved"]).toMatchObject([{ wave: 2, by: "ben" }]);
  await waitFor(async () => (await status())["state"] === "completed", {
    withinMs: 60_000,
    what: "the rollout to complete",
  });
  await Promise.all([begun, resumed]);
});

it("a session of the console ends with the operator's row, and with its roles", async () => {
  const { control } = program.endpoints();
  const open = async (token: string) => {
    const answer = await fetch(`${control}/console/api/session`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ token }),
    });
    return answer.headers.get("set-cookie")?.split(";")[0] ?? "";
  };
  const cookies = [await open("of-ada"), await open("of-ben")];
  const statuses = async () => {
    const { control: url } = program.endpoints();
    const found = cookies.flatMap((cookie) =>
      ["session", "events"].map(async (path) => {
        const answer = await fetch(`${url}/console/api/${path}`, { headers: { cookie } });
        await answer.body?.cancel();
        return answer.status;
      }),
    );
    return Promise.all(found);
  };
  const before = await statuses();
  await program.stop();
  await program.start({
    VEDETTE_CONTROL__OPERATORS__ADA__TOKEN: undefined,
    VEDETTE_CONTROL__OPERATORS__ADA__ROLES: undefined,
    VEDETTE_CONTROL__OPERATORS__BEN__ROLES: "read",
  });

  expect(before).toEqual([200, 200, 200, 200]);
  expect(await statuses()).toEqual([401, 401, 401, 401]);
  for (const place of placesOf()) {
    const removed = await send(place, { token: "of-ada", path: `${rollout}/Status` });
    const lowered = await send(place, { token: "of-ben", path: `${rollout}/Approve` });
    expect([removed.status, lowered.status]).toEqual([401, 403]);
  }
});
