/** The image gate in front of registries that are slow, broken, busy or hostile. */
import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { createReadAttachments } from "#registry/attachments.ts";
import { createRegistryClient } from "#registry/client.ts";
import type { Credential } from "#registry/credentials.ts";
import { createReadLabels } from "#registry/labels.ts";
import {
  type RegistryReply,
  type RegistryRequest,
  startFakeRegistry,
} from "../../support/servers/fake-registry.ts";
import { createPinImage } from "../../support/servers/image-gate.ts";

/** The registries of these tests are on this machine, so the settings have to name them. */
const settings = { allowed: [], insecure: ["127.0.0.1"], token_hosts: [], docker_config: "" };

const digest = `sha256:${"ab".repeat(32)}`;
const sha256 = (text: string) => `sha256:${createHash("sha256").update(text).digest("hex")}`;
const found: RegistryReply = { status: 200, headers: { "docker-content-digest": digest } };

const credential = { user: "deployer", password: "secret-word" };

type Reply = (request: RegistryRequest, count: number) => RegistryReply;

/** A registry that answers so, and the gate's result for an image of it. */
async function startGate(reply: Reply, known?: Credential) {
  const registry = await startFakeRegistry(reply);
  const pin = createPinImage(settings, () => known);
  const image = `${registry.host}/acme/sentinel:v1`;
  return { registry, image, pin: () => pin(image) };
}

const replies =
  (...list: RegistryReply[]): Reply =>
  (_request, count) =>
    list[count - 1] ?? found;

const refusal = (code: string, status: number) => expect.objectContaining({ code, status });

describe("temporary trouble", () => {
  it.each([500, 502, 503, 504, 408, 429])("retries after status %i", async (status) => {
    const { image, pin } = await startGate(replies({ status }, { status }));

    expect(await pin()).toBe(`${image}@${digest}`);
  });

  it("gives up after four attempts, and does not say that the image is missing", async () => {
    const { registry, pin } = await startGate(() => ({ status: 503 }));

    await expect(pin()).rejects.toEqual(refusal("registry_unavailable", 503));

    expect(registry.requests).toHaveLength(4);
  });

  it("waits as long as the Retry-After of a busy registry says", async () => {
    const { registry, pin } = await startGate(
      replies({ status: 429, headers: { "retry-after": "1" } }),
    );

    await pin();

    const [first = 0, second = 0] = registry.atMs;
    expect(second - first).toBeGreaterThanOrEqual(990);
  });

  it("waits until the date of a Retry-After", async () => {
    const { registry, pin } = await startGate((_request, count) =>
      count > 1
        ? found
        : {
            status: 503,
            headers: { "retry-after": new Date(Date.now() + 2_000).toUTCString() },
          },
    );

    await pin();

    const [first = 0, second = 0] = registry.atMs;
    expect(second - first).toBeGreaterThanOrEqual(900);
  });

  it("leaves a long wait to the caller", async () => {
    const { registry, pin } = await startGate(() => ({
      status: 429,
      headers: { "retry-after": "120" },
    }));

    await expect(pin()).rejects.toThrow("try again in 120 seconds");

    expect(registry.requests).toHaveLength(1);
  });

  it("does not wait for ever for an answer", async () => {
    const { image, pin } = await startGate(replies("hang"));

    expect(await pin()).toBe(`${image}@${digest}`);
  });
});

describe("an image that is not found at first", () => {
  const missing = { status: 404 };

  /** How long the gate waits for one that comes after so many answers. */
  async function startLate(answers: number, waitSeconds: number) {
    const registry = await startFakeRegistry((_request, count) =>
      count > answers ? found : missing,
    );
    const waiting = { ...settings, not_found_wait_seconds: waitSeconds };
    const pin = createPinImage(waiting, () => undefined);
    const image = `${registry.host}/acme/sentinel:v1`;
    return { registry, image, pin };
  }

  it("is pinned when the registry has it in time", async () => {
    const { image, pin } = await startLate(4, 5);

    expect(await pin(image)).toBe(`${image}@${digest}`);
  });

  it("is pinned when the registry has its digest in time", async () => {
    const { image, pin } = await startLate(4, 5);

    expect(await pin(`${image}@${digest}`)).toBe(`${image}@${digest}`);
  });

  it("is pinned when the registry has trouble meanwhile", async () => {
    const registry = await startFakeRegistry(
      (_request, count) => [missing, missing, { status: 503 }, missing][count - 1] ?? found,
    );
    const waiting = { ...settings, not_found_wait_seconds: 5 };
    const image = `${registry.host}/acme/sentinel:v1`;

    expect(await createPinImage(waiting, () => undefined)(image)).toBe(`${image}@${digest}`);
  });

  it("is refused when the wait is over", async () => {
    const { registry, image, pin } = await startLate(1_000, 2);

    await expect(pin(image)).rejects.toEqual(refusal("image_not_found", 400));

    const spentMs = (registry.atMs.at(-1) ?? 0) - (registry.atMs[0] ?? 0);
    expect(spentMs).toBeGreaterThanOrEqual(1_900);
    expect(spentMs).toBeLessThan(4_000);
    expect(registry.requests.length).toBeLessThan(10);
  });

  it("is refused at once without a wait", async () => {
    const { registry, image, pin } = await startLate(1_000, 0);

    await expect(pin(image)).rejects.toEqual(refusal("image_not_found", 400));

    expect(registry.requests.map(({ method }) => method)).toEqual(["HEAD", "GET"]);
  });

  it("is waited for by what reads it after it was pinned, because another replica may answer", async () => {
    const config = JSON.stringify({ config: { Labels: { team: "edge" } } });
    const manifest = JSON.stringify({ schemaVersion: 2, config: { digest: sha256(config) } });
    const late = new Map([
      [`manifests/${sha256(manifest)}`, manifest],
      [`blobs/${sha256(config)}`, config],
    ]);
    const asked = new Set<string>();
    const registry = await startFakeRegistry(({ path }) => {
      const name = path.split("/").slice(-2).join("/");
      const isFirst = !asked.has(name);
      asked.add(name);
      return isFirst ? missing : { status: 200, body: late.get(name) ?? "" };
    });
    const client = createRegistryClient(settings, () => undefined);
    const image = `${registry.host}/acme/sentinel:v1@${sha256(manifest)}`;
    const patience = { notFoundWaitMs: 5_000 };

    const labels = await createReadLabels(client, patience)(image);
    asked.clear();
    const attached = await createReadAttachments(client, patience)(image);

    expect(labels).toEqual(new Map([["team", "edge"]]));
    expect(attached.manifest.toString()).toBe(manifest);
  });

  it("is not waited for if the registry gives no access", async () => {
    const registry = await startFakeRegistry(() => ({ status: 403 }));
    const waiting = { ...settings, not_found_wait_seconds: 5 };

    const pinning = createPinImage(waiting, () => undefined)(`${registry.host}/acme/sentinel:v1`);

    await expect(pinning).rejects.toEqual(refusal("registry_auth", 400));
    expect(registry.requests).toHaveLength(2);
  });
});

describe("unusual answers", () => {
  const body = '{"schemaVersion": 2}\n';
  const computed = sha256(body);

  it.each([
    { what: "names no digest", head: { status: 200 } },
    { what: "names one of another kind", head: withDigest("sha512:abcd") },
    { what: "knows no HEAD", head: { status: 405 } },
  ])("computes the digest of the exact bytes for a registry that $what", async ({ head }) => {
    const { image, pin } = await startGate(({ method }) =>
      method === "HEAD" ? head : { status: 200, body },
    );

    expect(await pin()).toBe(`${image}@${computed}`);
  });

  it.each(["<html></html>", "null", "[]", '"text"', '{"schemaVersion":"2"}', ""])(
    "does not accept %j as a manifest, since a web server may answer that",
    async (page) => {
      const { image, pin } = await startGate(() => ({ status: 200, body: page }));

      await expect(pin()).rejects.toEqual(refusal("registry_unavailable", 503));
      await expect(createPinImage(settings, () => undefined)(`${image}@${digest}`)).rejects.toEqual(
        refusal("registry_unavailable", 503),
      );
    },
  );

  it("refuses content that does not match the requested digest", async () => {
    const { image } = await startGate(({ method }) =>
      method === "HEAD" ? { status: 200 } : { status: 200, body },
    );
    const pin = createPinImage(settings, () => undefined);

    await expect(pin(`${image}@${computed}`)).resolves.toBe(`${image}@${computed}`);
    await expect(pin(`${image}@${digest}`)).rejects.toThrow("does not match");
  });

  it("does not read more than the longest manifest", async () => {
    const { pin } = await startGate(({ method }) =>
      method === "HEAD" ? { status: 200 } : { status: 200, body: "x".repeat(4_194_305) },
    );

    await expect(pin()).rejects.toEqual(refusal("registry_unavailable", 503));
  });

  it.each([400, 418])("does not retry after status %i, but asks by GET once", async (status) => {
    const { registry, pin } = await startGate(() => ({ status }));

    await expect(pin()).rejects.toEqual(refusal("registry_unavailable", 503));

    expect(registry.requests.map(({ method }) => method)).toEqual(["HEAD", "GET"]);
  });

  it.each([400, 403, 404, 405, 406, 410, 418, 500, 501, 502, 504])(
    "asks by GET after a HEAD with status %i",
    async (status) => {
      const { image, registry, pin } = await startGate(({ method }) =>
        method === "HEAD" ? { status } : { status: 200, body },
      );

      expect(await pin()).toBe(`${image}@${computed}`);

      expect(registry.requests.map(({ method }) => method)).toEqual(["HEAD", "GET"]);
    },
  );

  it("asks by GET after a HEAD without an answer", async () => {
    const { image, registry, pin } = await startGate(({ method }) =>
      method === "HEAD" ? "close" : { status: 200, body },
    );

    expect(await pin()).toBe(`${image}@${computed}`);

    expect(registry.requests.map(({ method }) => method)).toEqual(["HEAD", "GET"]);
  });

  it.each([
    { status: 403, code: "registry_auth", answered: 400 },
    { status: 404, code: "image_not_found", answered: 400 },
    { status: 501, code: "registry_unavailable", answered: 503 },
  ])("is $code if both have status $status", async ({ status, code, answered }) => {
    const { pin } = await startGate(() => ({ status }));

    await expect(pin()).rejects.toEqual(refusal(code, answered));
  });

  it("authenticates for a GET after a HEAD that was not found", async () => {
    const challenge = { "www-authenticate": 'Basic realm="x"' };
    const { image, pin } = await startGate(({ method, authorization }) => {
      if (method === "HEAD") return { status: 404 };
      return authorization === undefined
        ? { status: 401, headers: challenge }
        : { status: 200, body };
    }, credential);

    expect(await pin()).toBe(`${image}@${computed}`);
  });

  it.each([undefined, "application/vnd.oci.image.manifest.v1+json; charset=utf-8", "text/plain"])(
    "reads a manifest of the type %s",
    async (type) => {
      const { image, pin } = await startGate(({ method }) => ({
        status: method === "HEAD" ? 405 : 200,
        headers: type === undefined ? {} : { "content-type": type },
        body,
      }));

      expect(await pin()).toBe(`${image}@${computed}`);
    },
  );

  it("keeps the requested digest when the registry names another", async () => {
    const { image } = await startGate(() => found);
    const pin = createPinImage(settings, () => undefined);
    const asked = `${image}@sha256:${"cd".repeat(32)}`;

    expect(await pin(asked)).toBe(asked);
  });

  it("ends a redirect in a circle", async () => {
    const { registry, pin } = await startGate(({ path }) => ({
      status: 302,
      headers: { location: path },
    }));

    await expect(pin()).rejects.toEqual(refusal("registry_unavailable", 503));

    expect(registry.requests).toHaveLength(24);
  });

  function withDigest(value: string) {
    return { status: 200, headers: { "docker-content-digest": value } };
  }
});

describe("credentials", () => {
  const basic = { status: 401, headers: { "www-authenticate": 'Basic realm="x"' } };

  it("are not sent to a registry that does not require them", async () => {
    const { registry, pin } = await startGate(() => found, credential);

    await pin();

    expect(registry.requests.map(({ authorization }) => authorization)).toEqual([undefined]);
  });

  it("are not sent to the target of a redirect", async () => {
    const store = await startFakeRegistry(() => found);
    const location = `http://${store.host}/elsewhere`;
    const { registry, pin } = await startGate(
      ({ authorization }) =>
        authorization === undefined ? basic : { status: 307, headers: { location } },
      credential,
    );

    expect(await pin()).toContain(digest);

    expect(registry.requests.at(-1)?.authorization).toMatch(/^Basic /);
    expect(store.requests).toEqual([
      { method: "HEAD", path: "/elsewhere", authorization: undefined },
    ]);
  });

  it("are not sent to another host that requires them after a redirect", async () => {
    const stranger = await startFakeRegistry(() => basic);
    const location = `http://${stranger.host}/elsewhere`;
    const { pin } = await startGate(() => ({ status: 307, headers: { location } }), credential);

    await expect(pin()).rejects.toEqual(refusal("registry_auth", 400));

    expect(stranger.requests.map(({ authorization }) => authorization)).toEqual([undefined]);
  });

  it.each([
    { what: "a foreign host", realm: "https://auth.example.com/token" },
    { what: "no address", realm: "token" },
  ])("are not sent to $what for a token", async ({ realm }) => {
    const challenge = { "www-authenticate": `Bearer realm="${realm}",service="x"` };
    const { registry, pin } = await startGate(
      () => ({ status: 401, headers: challenge }),
      credential,
    );

    await expect(pin()).rejects.toEqual(refusal("registry_auth", 400));

    expect(registry.requests).toHaveLength(1);
  });

  it("are not in the error about a token service that fails", async () => {
    const tokens = await startFakeRegistry(() => ({ status: 500 }));
    const challenge = { "www-authenticate": `Bearer realm="http://${tokens.host}/token"` };
    const { pin } = await startGate(() => ({ status: 401, headers: challenge }), credential);

    const error = await pin().catch((thrown: unknown) => thrown);

    expect(error).toEqual(refusal("registry_unavailable", 503));
    expect(String(error)).not.toMatch(/secret-word|Basic/);
    expect(tokens.requests).toHaveLength(4);
  });

  it.each([
    { what: "is no JSON", body: "<html>" },
    { what: "has no token", body: '{"expires_in": 300}' },
  ])("give no access when the answer of the token service $what", async ({ body }) => {
    const tokens = await startFakeRegistry(() => ({ status: 200, body }));
    const challenge = { "www-authenticate": `Bearer realm="http://${tokens.host}/token"` };
    const { pin } = await startGate(() => ({ status: 401, headers: challenge }), credential);

    await expect(pin()).rejects.toEqual(refusal("registry_unavailable", 503));
  });

  it("are used again when the registry refuses the cached token", async () => {
    const tokens = await startFakeRegistry((_request, count) => ({
      status: 200,
      body: JSON.stringify({ access_token: `token-${count}`, expires_in: 300 }),
    }));
    const challenge = { "www-authenticate": `Bearer realm="http://${tokens.host}/token"` };
    let taken = "Bearer token-1";
    const { registry, pin } = await startGate(
      ({ authorization }) =>
        authorization === taken ? found : { status: 401, headers: challenge },
      credential,
    );
    await pin();
    taken = "Bearer token-2";

    await pin();

    expect(registry.requests.map(({ authorization }) => authorization)).toEqual([
      undefined,
      "Bearer token-1",
      undefined,
      "Bearer token-1",
      "Bearer token-2",
    ]);
  });
});

describe("registries that are not allowed", () => {
  it("get no request", async () => {
    const registry = await startFakeRegistry(() => found);
    const allowed = [`${registry.host}/other`, "registry.example.com"];
    const pin = createPinImage({ ...settings, allowed }, () => undefined);

    const pinning = pin(`${registry.host}/acme/sentinel:v1`);

    await expect(pinning).rejects.toEqual(refusal("image_not_allowed", 400));
    expect(registry.requests).toEqual([]);
  });
});
