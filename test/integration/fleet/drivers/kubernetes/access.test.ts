/** How the driver shows an API server who it is, over real TLS. */
import { writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { UnreachableError } from "#fleet/drivers/driver.ts";
import { createSelfSigned } from "../../../../support/http/self-signed.ts";
import { startApiServer } from "../../../../support/kubernetes/api-server.ts";
import {
  addDeployment,
  createTestDriver,
  untilAvailable,
} from "../../../../support/kubernetes/fleet.ts";
import { tempDir } from "../../../../support/temp-dir.ts";
import { waitFor } from "../../../../support/wait-for.ts";

const encode = (pem: string) => Buffer.from(pem).toString("base64");

type Access = { server: string; cluster?: object; user: object };

function writeConfig({ server, cluster = {}, user }: Access): NodeJS.ProcessEnv {
  const file = path.join(tempDir(), "config");
  const config = {
    "current-context": "test",
    contexts: [{ name: "test", context: { cluster: "test", user: "test", namespace: "edge" } }],
    clusters: [{ name: "test", cluster: { server, ...cluster } }],
    users: [{ name: "test", user }],
  };
  writeFileSync(file, JSON.stringify(config));
  return { KUBECONFIG: file };
}

it("asks over TLS, with a certificate of its own, a server whose certificate it can verify", async () => {
  const endsAt = new Date(Date.now() + 3_600_000);
  const make = () => createSelfSigned(["localhost"], endsAt);
  const [ours, theirs] = [await make(), await make()];
  const server = await startApiServer({
    tls: { ...theirs, ca: ours.cert },
    tokens: { "": () => true },
  });
  addDeployment(server, "gw");
  await untilAvailable(server);
  const user = {
    "client-certificate-data": encode(ours.cert),
    "client-key-data": encode(ours.key),
  };
  const verified = { "certificate-authority-data": encode(theirs.cert) };
  const name = { "tls-server-name": "localhost" };
  const list = (cluster: object, of: object = user) =>
    createTestDriver(server.url, {
      environment: writeConfig({ server: server.url, cluster, user: of }),
    }).list();

  expect(await list({ ...verified, ...name })).toHaveLength(1);
  await expect(list(verified)).rejects.toThrow(/^unreachable: .*ALTNAME/);
  await expect(list(name)).rejects.toThrow(/^unreachable: .*SELF_SIGNED/);
  await expect(list({ ...verified, ...name }, {})).rejects.toBeInstanceOf(UnreachableError);
});

it("reads a token's file again once the API server refuses what it had read", async () => {
  let good = "one";
  const tokens = { one: () => good === "one", two: () => true };
  const server = await startApiServer({
    tokens,
    before: ({ token }) => (token === good ? undefined : { status: 401, body: {} }),
  });
  addDeployment(server, "gw");
  await untilAvailable(server);
  const tokenFile = path.join(tempDir(), "token");
  writeFileSync(tokenFile, "one\n");
  const environment = writeConfig({ server: server.url, user: { tokenFile } });
  const driver = createTestDriver(server.url, { environment });

  const before = await driver.list();
  good = "two";
  writeFileSync(tokenFile, "two\n");
  const after = await waitFor(() => driver.list(), { withinMs: 5_000, what: "the list" });

  expect([before.length, after.length]).toEqual([1, 1]);
  expect(server.requests.map(({ token }) => token)).toEqual(["one", "one", "two"]);
});
