/** The real addresses before Restate, with a Restate that answers everything and writes down what has reached it. */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import type { ConsolePlugin } from "#console/contract.ts";
import { createControl } from "#control/control.ts";
import { createAdminFront, createIngressFront } from "#control/front/front.ts";
import type { Door } from "#control/short-answers.ts";
import type { SignIn } from "#control/sign-in/sign-in.ts";
import { createFindCaller, createIdentify } from "#control/token.ts";
import type { FleetOperators } from "#fleet/contract.ts";
import { createLog } from "#kernel/log.ts";
import type { Role } from "#kernel/roles.ts";

type Settings = {
  /** By name; the token of `ada` is `of-ada`. That of the ingress is `shared`. */
  operators?: Record<string, readonly Role[]>;
  fleets?: readonly FleetOperators[];
  doors?: readonly Door[];
  console?: ConsolePlugin;
  signIn?: SignIn;
  /** What Restate answers at a path, or will; absent: nothing in it. */
  answer?: (path: string) => unknown;
  /** Until when it serves: the end of the test, or whatever calls the function. */
  atEnd?: (end: () => Promise<void>) => void;
};

type Reached = {
  method: string;
  path: string;
  actor?: string;
  key?: string;
  rawHeaders: readonly string[];
};

type Headers = Record<string, string | undefined>;

export async function startAccessBench(settings: Settings = {}) {
  const { fleets = [{ name: "singleton" }], doors = [], atEnd = onTestFinished } = settings;
  const { signIn, console } = settings;
  const reached: Reached[] = [];
  const restate = createServer((request, response) => {
    const { "x-vedette-actor": actor, "idempotency-key": key } = request.headers as Headers;
    reached.push({
      method: request.method ?? "",
      path: request.url ?? "",
      ...(actor !== undefined && { actor }),
      ...(key !== undefined && { key }),
      rawHeaders: request.rawHeaders,
    });
    const answer = settings.answer?.(request.url ?? "");
    request.resume().on("end", async () => response.end(JSON.stringify((await answer) ?? {})));
  });
  const restateUrl = await listen(restate);
  const operators = Object.fromEntries(
    Object.entries(settings.operators ?? {}).map(([name, roles]) => [
      name,
      { token: createHash("sha256").update(`of-${name}`).digest("hex"), roles: [...roles] },
    ]),
  );
  const tokens = { ingressToken: "shared", operators };
  const log = createLog({ level: "silent", format: "json" });
  const places = { ingressUrl: restateUrl, adminUrl: restateUrl };
  const identify = createFindCaller(createIdentify(tokens), signIn?.find);
  const common = { ...places, identify, fleets, log };
  const fronts = [
    createIngressFront({ ...common, actorKey: new Uint8Array(32) }),
    createAdminFront({ ...common, actorKey: new Uint8Array(32) }),
  ] as const;
  const control = createControl({
    ...places,
    ...tokens,
    fleets,
    doors,
    signIn,
    log,
    ...(console !== undefined && { console }),
  });
  const addresses = {
    control: await control.listen({ host: "127.0.0.1", port: 0 }),
    ingress: await listen(fronts[0].server),
    admin: await listen(fronts[1].server),
  };
  atEnd(async () => {
    await Promise.all([...fronts.map(({ close }) => close()), control.close()]);
    for (const { server } of fronts) server.close();
    restate.closeAllConnections();
    restate.close();
  });
  return { ...addresses, reached };
}

async function listen(server: Server): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
