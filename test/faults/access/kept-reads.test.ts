/** Calls of whoever may only read, as often as they like: nothing that Restate stores may grow by them. */
import { createHash } from "node:crypto";
import { expect, it, onTestFinished } from "vitest";
import { startProgram } from "../../support/program/program.ts";
import { queryRestate } from "../../support/servers/restate-query.ts";
import { waitFor } from "../../support/wait-for.ts";

const rows = ["locations", "channels", "checks", "heartbeats", "drills", "sources", "routes"];
const definitions = Object.fromEntries(rows.map((name) => [name, []]));
const reads: [string, object?][] = [
  ["SentinelRolloutService/singleton/Status"],
  ["SentinelRolloutService/singleton/Plan", { image: "registry.example.com/vedette/sentinel:v2" }],
  ["SentinelRolloutService/singleton/History"],
  ["RolloutWindows/List"],
  ["RolloutPins/List"],
  ["RolloutPromotions/List"],
  ["FleetService/List"],
  ["CronService/key-refill/Status"],
  ["CheckReads/List"],
  ["CheckReads/Episodes"],
  ["Definitions/singleton/Plan", { definitions }],
  ["Definitions/singleton/Show"],
  ["MonitorRunners/List"],
  ["AlertEvents/List"],
  ["AlertRoutes/singleton/Status"],
  ["StatusReads/Read"],
];
const tokens = { ada: "reader-of-all-and-nothing-else-1", bob: "operator-of-all-and-nothing-else" };

it("Restate keeps nothing of a reader's calls, at any address, and the result of an operator's", async () => {
  const program = await startProgram({
    VEDETTE_CONTROL__OPERATORS__ADA__TOKEN: sha256(tokens.ada),
    VEDETTE_CONTROL__OPERATORS__ADA__ROLES: "read",
    VEDETTE_CONTROL__OPERATORS__BOB__TOKEN: sha256(tokens.bob),
    VEDETTE_CONTROL__OPERATORS__BOB__ROLES: "operate",
  });
  onTestFinished(() => program.dispose());
  const { control, restate_ingress: ingress = "", restate_admin: admin = "" } = program.endpoints();
  const call = async (url: string, as: keyof typeof tokens, body: object = {}) => {
    const headers = {
      ...{ authorization: `Bearer ${tokens[as]}`, "content-type": "application/json" },
      "idempotency-key": "a-key",
    };
    const answer = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
    return answer.status;
  };

  await call(`${control}/vedette.v1.SentinelRolloutService/singleton/Pause`, "bob");
  const places = [control, ingress, `${admin}/ingress`];
  const answers = await Promise.all(
    places.flatMap((place) =>
      reads.map(async ([path, body]) => [
        path,
        await call(`${place}/vedette.v1.${path}`, "ada", body),
      ]),
    ),
  );

  expect(answers).toEqual(places.flatMap(() => reads.map(([path]) => [path, 200])));
  const kept = async () => {
    const found = await queryRestate(
      admin,
      "SELECT target_service_name AS service, target_handler_name AS handler FROM sys_invocation WHERE invoked_by = 'ingress'",
      program.token(),
    );
    return found.map(({ service, handler }) => `${service}/${handler}`);
  };
  const names = new Set(reads.map(([path]) => `vedette.v1.${path.replace(/\/.*\//, "/")}`));
  await waitFor(async () => !(await kept()).some((name) => names.has(name)), {
    withinMs: 10_000,
    what: "no read to be kept",
  });
  expect(await kept()).toContain("vedette.v1.SentinelRolloutService/Pause");
});

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
