/** An apply of alert routes in a whole program that is killed around each of its writes. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Part } from "../../../support/program/program.ts";
import { edited } from "../../../support/routing/route-histories.ts";
import {
  type RoutesProgram,
  routeNames,
  startRoutesProgram,
} from "../../../support/routing/routes-program.ts";
import { waitFor } from "../../../support/wait-for.ts";

let routes: RoutesProgram;

beforeAll(async () => {
  routes = await startRoutesProgram();
});

afterAll(() => routes?.stop());

type Killing = { parts: Part[]; isWanted: (write: string) => boolean };

describe("an apply whose program is killed", { retry: 0 }, () => {
  it.each<Killing>([
    { parts: ["main"], isWanted: () => true },
    { parts: ["main", "restate", "postgres"], isWanted: (write) => write.endsWith("after") },
  ])(
    "goes on after kills of $parts around its writes, and writes nothing twice",
    async ({ parts, isWanted }) => {
      const { double } = routes.incident;
      await routes.run("apply", "--adopt");
      const [made, changed] = [routeNames.slice(0, 2), routeNames.slice(4)];
      for (const name of made) double.routes.delete(routes.routeNamed(name).id);
      for (const name of changed) {
        double.edit(routes.routeNamed(name).id, (content) => edited(content, "channel"));
      }
      await routes.run("plan", "--out", routes.planFile);
      double.lag.lagMs = 2_000;
      double.writes.length = 0;
      const killed = new Set<string>();
      let isDown = false;
      routes.incident.hold = async ({ method, body }, moment) => {
        const write = `${method} ${(body as { name?: string } | undefined)?.name} ${moment}`;
        if (method === "GET" || killed.has(write) || !isWanted(write)) return;
        killed.add(write);
        for (const part of parts) routes.program.kill9(part);
        isDown = true;
        throw new Error("nobody waits for the answer any more");
      };

      const before = (await routes.status()).last_apply?.apply_id;
      await routes.call("Apply/send", { plan: routes.savedPlan() });
      const result = await waitFor(
        async () => {
          if (isDown) {
            isDown = false;
            // The next kill may well come before it is ready: then this fails, and it is down again.
            await routes.program.start();
          }
          const { applying, last_apply } = await routes.status();
          return applying === null && last_apply?.apply_id !== before && (last_apply ?? false);
        },
        { withinMs: 280_000, what: "the apply to end" },
      );

      routes.incident.hold = async () => {};
      expect(result.routes.map(({ outcome }) => outcome)).toEqual([
        ...["created", "created", "in_step", "in_step", "updated", "updated"],
      ]);
      expect(double.writes).toEqual([
        ...made.map((name) => `POST ${name}`),
        ...changed.map((name) => `PUT ${name}`),
      ]);
      expect(killed.size).toBe(parts.length === 1 ? 8 : 4);
      expect(double.faults).toEqual([]);
      expect((await routes.run("plan")).code).toBe(0);
      double.lag.lagMs = 0;
    },
    600_000,
  );
});
