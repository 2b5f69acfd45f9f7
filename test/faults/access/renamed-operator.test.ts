/** Whoever has started a rollout of the real program approves it neither under a name that the settings give them meanwhile. */
import { createHash } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Program, startProgram } from "../../support/program/program.ts";
import { waitFor } from "../../support/wait-for.ts";

const row = (name: string, token: string, roles = "read,operate,approve") => ({
  [`VEDETTE_CONTROL__OPERATORS__${name}__TOKEN`]: createHash("sha256").update(token).digest("hex"),
  [`VEDETTE_CONTROL__OPERATORS__${name}__ROLES`]: roles,
});

const without = (name: string) => ({
  [`VEDETTE_CONTROL__OPERATORS__${name}__TOKEN`]: undefined,
  [`VEDETTE_CONTROL__OPERATORS__${name}__ROLES`]: undefined,
});

let program: Program;

beforeAll(async () => {
  program = await startProgram({
    VEDETTE_FLEET__PROCESS__SIZE: "2",
    VEDETTE_ROLLOUT__APPROVALS: "after_first",
    ...row("ADA", "of-ada"),
    ...row("BEN", "of-ben"),
    ...row("CAROL", "of-carol"),
  });
});

afterAll(() => program?.dispose());

const untilWaiting = () =>
  waitFor(async () => (await program.call("Status")).body["waiting_for"] === "approval", {
    withinMs: 60_000,
    what: "the rollout to wait for an approval",
  });

const approve = "/vedette.v1.SentinelRolloutService/singleton/Approve";

const post = async (url: string, headers: Record<string, string>, body: object = {}) => {
  const answer = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  return { status: answer.status, cookie: answer.headers.get("set-cookie") ?? "", answer };
};

/** By control, both of Restate's addresses, and the console. */
const approveEverywhere = async (token: string) => {
  const { control, restate_ingress, restate_admin } = program.endpoints();
  const places = [control, `${restate_ingress}`, `${restate_admin}/ingress`];
  const as = { authorization: `Bearer ${token}` };
  const calls = places.map(async (at) => (await post(`${at}${approve}`, as)).status);
  const { cookie, answer } = await post(`${control}/console/api/session`, {}, { token });
  const { csrf } = (await answer.json()) as { csrf: string };
  const { rollout_id, state } = (await program.call("Status")).body;
  const order = { expect: { rollout_id, state } };
  const session = { cookie: cookie.split(";")[0] ?? "", "x-csrf-token": csrf };
  const byPage = await post(`${control}/console/api${approve}`, session, order);
  return [...(await Promise.all(calls)), byPage.status];
};

it("its starter approves no wave with the same token, under a name of a later start", async () => {
  const begun = program
    .callAs("of-ada", "Rollout", { image: "vedette/sentinel:v2", wave_percentages: [50, 100] })
    .catch(() => {});
  await untilWaiting();
  await program.stop();
  await begun;
  await program.start({
    ...without("ADA"),
    ...row("LOVELACE", "of-ada"),
    ...row("CAROL", "of-carol", "read,operate"),
  });
  await untilWaiting();

  const renamed = await approveEverywhere("of-ada");
  const lowered = await approveEverywhere("of-carol");
  const other = await program.callAs("of-ben", "Approve");

  expect({ renamed, lowered }).toEqual({
    renamed: [403, 403, 403, 403],
    lowered: [403, 403, 403, 403],
  });
  expect(other).toMatchObject({ status: 200, body: { approved: [{ wave: 2, by: "ben" }] } });
});
