/** Whoever may only look plans images of registries in private networks, to find out what listens there. */
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { networkInterfaces } from "node:os";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Base } from "#app/base.ts";
import { type FleetWithLogins, fleetsOf } from "#app/fleets.ts";
import { createResolveImage } from "#app/image-gate.ts";
import { readConfig } from "#config.ts";
import { ingressPath } from "#kernel/ingress.ts";
import { describeClosed } from "#kernel/reach.ts";
import { startAccessBench } from "../../support/program/access-bench.ts";

const addresses = Object.values(networkInterfaces()).flatMap((all = []) => all);
const own = addresses.find(
  ({ address, family }) => family === "IPv4" && describeClosed(address, ["private"]) !== undefined,
)?.address;

let connections = 0;
const service = createServer((socket) => {
  connections += 1;
  socket.destroy();
});

beforeAll(async () => {
  service.listen(0, own);
  await once(service, "listening");
});

afterAll(() => service.close());

/** Resolves an image of a server in a private network; returns why not, and whether that was connected to. */
async function resolve(isOpen: boolean, environment: Record<string, string> = {}) {
  const { port } = service.address() as AddressInfo;
  const at = `${own}:${port}`;
  const named = Object.entries(environment).map(([name, value]) => [name, value.replace("AT", at)]);
  const config = readConfig({
    environment: {
      VEDETTE_ROLLOUT__REQUIRE_IMAGE_IN_REGISTRY: "true",
      VEDETTE_REGISTRY__NOT_FOUND_WAIT_SECONDS: "0",
      ...Object.fromEntries(named),
    },
  });
  const base = { config, services: [], dataDir: "", log: undefined } as unknown as Base;
  const [fleet] = fleetsOf(config);
  const of = { ...fleet, findCredential: () => undefined } as FleetWithLogins;
  const before = connections;
  const { code } = await createResolveImage(base, of)(`${at}/acme/sentinel:v1`, isOpen).catch(
    (error) => error,
  );
  return { code, isConnected: connections > before };
}

describe.skipIf(own === undefined)("a registry in a private network", () => {
  it("is not connected to for whoever may only look", async () => {
    expect(await resolve(false)).toEqual({ code: "image_not_allowed", isConnected: false });
  });

  it("is connected to for whoever may start rollouts", async () => {
    expect(await resolve(true)).toEqual({ code: "registry_unavailable", isConnected: true });
  });

  it.each(["ALLOWED", "INSECURE"])(
    "is connected to for all if registry.%s names it",
    async (name) => {
      const named = { [`VEDETTE_REGISTRY__${name}`]: "AT" };

      expect(await resolve(false, named)).toMatchObject({ isConnected: true });
    },
  );
});

const rollout = "/vedette.v1.SentinelRolloutService/singleton";
const operators = { ada: ["operate"], ben: ["approve"], eve: ["read"] } as const;

describe.each(["control", "ingress", "admin"] as const)("at the %s", (place) => {
  it("a plan reaches its handler with the name of who may operate alone", async () => {
    const { reached, ...bench } = await startAccessBench({ operators });
    const url = `${bench[place]}${place === "admin" ? "/ingress" : ""}${rollout}`;
    const post = (handler: string, as: string) =>
      fetch(`${url}/${handler}`, {
        method: "POST",
        headers: { authorization: `Bearer of-${as}`, "content-type": "application/json" },
        body: JSON.stringify(handler === "Status" ? {} : { image: "r.example.com/a:v1" }),
      });

    for (const as of ["eve", "ben", "ada"]) await post("Plan", as);
    await post("Plan/send", "eve");
    await post("Status", "eve");

    const names = reached.map(({ path, actor }) => [path, actor]);
    const reachedAs = (handler: string, actor?: string) => [
      ingressPath(`${rollout}/${handler}`),
      actor,
    ];
    expect(names).toEqual([
      reachedAs("Plan"),
      reachedAs("Plan"),
      reachedAs("Plan", "ada"),
      reachedAs("Plan/send"),
      reachedAs("Status", "eve"),
    ]);
  });
});
