/** The worker uses the same port at each start. */
import { readFileSync, writeFileSync } from "node:fs";
import { networkInterfaces } from "node:os";
import path from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { createLog } from "#kernel/log.ts";
import { serveOnKnownPort } from "#worker/endpoint.ts";
import { tempDir } from "../../support/temp-dir.ts";

const log = createLog({ level: "silent", format: "json" });

async function serve(file: string, host = "127.0.0.1"): Promise<string> {
  const settings = { host, port: 0, services: [], identityKeys: [], log };
  const endpoint = await serveOnKnownPort(file, settings);
  onTestFinished(endpoint.stop);
  return new URL(endpoint.url).port;
}

it.each(["99999999", "-5", "1.5", "garbage", ""])(
  "is a free one when the file holds no port: %j",
  async (text) => {
    const file = path.join(tempDir(), "worker-port");
    writeFileSync(file, text);

    const port = await serve(file);

    expect(Number(port)).toBeGreaterThan(0);
    expect(readFileSync(file, "utf8")).toBe(port);
  },
);

const hasIpv6 = Object.values(networkInterfaces()).some((all) =>
  all?.some(({ address }) => address === "::1"),
);

it.skipIf(!hasIpv6)("is the same at the next start on an IPv6 host", async () => {
  const file = path.join(tempDir(), "worker-port");

  const port = await serve(file, "::1");

  expect(readFileSync(file, "utf8")).toBe(port);
});
