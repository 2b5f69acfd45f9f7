/** The image gate cannot be used to reach this machine's own services. */
import { expect, it } from "vitest";
import { createRegistryClient } from "#registry/client.ts";
import { createPinImage as createPin } from "#registry/manifest.ts";
import { type RegistryReply, startFakeRegistry } from "../../support/servers/fake-registry.ts";
import { createPinImage } from "../../support/servers/image-gate.ts";

const digest = `sha256:${"ab".repeat(32)}`;
const found = { status: 200, headers: { "docker-content-digest": digest } };
const settings = { allowed: [], insecure: [], token_hosts: [], docker_config: "" };
const notAllowed = expect.objectContaining({ code: "image_not_allowed", status: 400 });
const portOf = (host: string) => host.split(":")[1];

it.each(["127.0.0.1", "localhost", "0x7f.1", "[::ffff:127.0.0.1]"])(
  "does not connect to this machine as %s",
  async (name) => {
    const service = await startFakeRegistry(() => found);
    const pin = createPinImage(settings, () => undefined);

    const pinning = pin(`${name}:${portOf(service.host)}/acme/sentinel:v1`);

    await expect(pinning).rejects.toEqual(notAllowed);
    expect(service.requests).toEqual([]);
  },
);

it("follows no redirect to another port of this machine", async () => {
  const service = await startFakeRegistry(() => found);
  const location = `http://${service.host}/deployments`;
  const registry = await startFakeRegistry(() => ({ status: 307, headers: { location } }));
  const pin = createPinImage({ ...settings, insecure: [registry.host] }, () => undefined);

  await expect(pin(`${registry.host}/acme/sentinel:v1`)).rejects.toEqual(notAllowed);

  expect(service.requests).toEqual([]);
});

it("does not connect to a token service at another port of this machine", async () => {
  const service = await startFakeRegistry(() => found);
  const challenge = `Bearer realm="http://${service.host}/query",service="s"`;
  const registry = await startFakeRegistry(() => ({
    status: 401,
    headers: { "www-authenticate": challenge },
  }));
  const pin = createPinImage({ ...settings, allowed: [registry.host] }, () => undefined);

  await expect(pin(`${registry.host}/acme/sentinel:v1`)).rejects.toEqual(notAllowed);

  expect(service.requests).toEqual([]);
});

it("connects to a registry of this machine that is allowed by name", async () => {
  const registry = await startFakeRegistry(() => found);
  const pin = createPinImage({ ...settings, allowed: [registry.host] }, () => undefined);

  const pinned = await pin(`${registry.host}/acme/sentinel:v1`);

  expect(pinned).toBe(`${registry.host}/acme/sentinel:v1@${digest}`);
});

it("does not connect to a service of ours, although the settings name this machine", async () => {
  const service = await startFakeRegistry(() => found);
  const named = { ...settings, insecure: ["127.0.0.1"] };
  const services = [{ name: "Restate", host: "localhost", port: Number(portOf(service.host)) }];
  const client = createRegistryClient(named, () => undefined, services);
  const pin = createPin({ ...named, not_found_wait_seconds: 0 }, client);

  await expect(pin(`${service.host}/acme/sentinel:v1`)).rejects.toThrow(
    "one of Vedette's own services (Restate), to which we do not connect",
  );

  expect(service.requests).toEqual([]);
});

/** Each answers what leads the next request to a service of ours. */
const hops: [string, (service: string, registry: string) => RegistryReply[]][] = [
  ["a redirect", (at) => [movedTo(`http://${at}/v2/`)]],
  ["a redirect after one", (at, own) => [movedTo(`http://${own}/v2/b`), movedTo(`http://${at}/`)]],
  ["a realm", (at) => [realmAt(`http://${at}/token`)]],
  [
    "a redirect of a realm",
    (at, own) => [realmAt(`http://${own}/token`), movedTo(`http://${at}/`)],
  ],
  [
    "a redirect with a token",
    (at, own) => [
      realmAt(`http://${own}/token`),
      { status: 200, body: '{"token":"a"}' },
      movedTo(`http://${at}/`, 307),
    ],
  ],
  [
    "a second realm",
    (at, own) => [
      {
        status: 401,
        headers: {
          "www-authenticate": [`Bearer realm="http://${own}/a"`, `Bearer realm="http://${at}/b"`],
        },
      },
      { status: 500 },
    ],
  ],
];
const movedTo = (location: string, status = 302) => ({ status, headers: { location } });
const realmAt = (realm: string) => ({
  status: 401,
  headers: { "www-authenticate": `Bearer realm="${realm}"` },
});

it.each(hops)("%s leads to no service of ours, at a host that is named", async (_, repliesOf) => {
  const attack = async (name: string, isOwn: boolean) => {
    const service = await startFakeRegistry(() => found);
    const port = Number(portOf(service.host));
    const at = `${name}:${port}`;
    const registry = await startFakeRegistry(
      (_request, count) => repliesOf(at, registry.host)[count - 1] ?? { status: 404 },
    );
    const named = { ...settings, insecure: [registry.host, name, at], token_hosts: [at] };
    const services = isOwn ? [{ name: "Restate", host: "127.0.0.1", port }] : [];
    const client = createRegistryClient(named, () => undefined, services);
    const pin = createPin({ ...named, not_found_wait_seconds: 0 }, client);
    await pin(`${registry.host}/acme/sentinel:v1`).catch(() => {});
    return service.requests.length;
  };

  for (const name of ["127.0.0.1", "localhost", "[::ffff:7f00:1]"]) {
    expect([name, (await attack(name, false)) > 0, await attack(name, true)]).toEqual([
      name,
      true,
      0,
    ]);
  }
});
