/** The reference sentinel: a small gateway, run by the `process` driver as a child process. */
import { once } from "node:events";
import type { Server } from "node:http";
import { flushCompileCache } from "node:module";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { createCounters } from "./counters.ts";
import { createForward } from "./forward.ts";
import {
  type Behaviour,
  behaviourOf,
  createGateway,
  type Gateway,
  readSettings,
  type SentinelSettings,
} from "./gateway.ts";
import { createPrivateServer, type Health } from "./health.ts";
import { createTunnels } from "./tunnel.ts";
import { createVerifyKey } from "./verify.ts";

const host = "127.0.0.1";

/** After this a `-slow` image becomes healthy, and a `-crash` image exits. */
const slowMs = 5_000;
const crashMs = 150;

/** The time that requests in flight have to finish after SIGTERM or SIGINT. */
const drainMs = 10_000;

async function run(settings: SentinelSettings): Promise<void> {
  const behaviour = behaviourOf(settings);
  process.stdout.write(`sentinel ${settings.id} starts with ${settings.image}\n`);
  const health = createHealth(settings, behaviour);
  const counters = createCounters();
  const gateway = createGateway({
    verifyKey: createVerifyKey({ url: settings.apiUrl, rootKey: settings.rootKey }),
    upstream: settings.upstreamUrl === "" ? undefined : upstreamOf(settings),
    health,
    counters,
    trustedProxies: settings.trustedProxies,
  });
  const activate = async () => {
    // The old process still listens on this port while the new one opens it, so that no request is lost.
    if (gateway.server.listening) return;
    await listen(gateway.server, { port: settings.publicPort, reusePort: true });
    process.stdout.write(`serving on port ${settings.publicPort}\n`);
  };
  const privateServer = createPrivateServer({
    token: settings.privateToken,
    health,
    metrics: counters.write,
    activate,
  });
  await listen(privateServer, { port: 0 });
  process.once("SIGTERM", () => void end(gateway));
  process.once("SIGINT", () => void end(gateway));
  // Our parent may end before us; we continue to serve.
  process.on("disconnect", () => {});
  process.send?.({ healthPort: (privateServer.address() as AddressInfo).port });
  setTimeout(() => {
    if (!gateway.server.listening) process.exit(0);
  }, settings.activateWithinMs).unref();
  if (behaviour === "crash") setTimeout(crash, crashMs);
  // Else it is stored at the end, and each sentinel of a first start would compile the same code.
  flushCompileCache();
}

function crash(): void {
  process.stderr.write("error: this image crashes, as its tag says\n");
  process.exit(1);
}

function upstreamOf({ upstreamUrl, id }: SentinelSettings) {
  return { forward: createForward(upstreamUrl, id), tunnels: createTunnels(upstreamUrl, id) };
}

function createHealth(settings: SentinelSettings, behaviour: Behaviour): () => Health {
  const { id, region, image } = settings;
  const healthyFrom = Date.now() + (behaviour === "slow" ? slowMs : 0);
  const status = () => {
    if (behaviour === "sick") return "sick";
    return Date.now() < healthyFrom ? "starting" : "healthy";
  };
  return () => ({ id, region, image, status: status() });
}

async function listen(server: Server, at: { port: number; reusePort?: boolean }): Promise<void> {
  server.listen({ host, ...at });
  await once(server, "listening");
}

async function end(gateway: Gateway): Promise<void> {
  await Promise.race([gateway.drain(), delay(drainMs)]);
  process.exit(0);
}

await run(readSettings(process.env));
