/** The image gate in front of a real registry: open, with a password, with tokens. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createFindCredential } from "#registry/credentials.ts";
import { manifestTypes } from "#registry/manifest.ts";
import {
  type DockerRegistry,
  registryUser,
  startDockerRegistry,
} from "../../support/servers/docker-registry.ts";
import { startFakeRegistry } from "../../support/servers/fake-registry.ts";
import { createPinImage } from "../../support/servers/image-gate.ts";
import { hasPrograms } from "../../support/servers/programs.ts";
import { startTokenIssuer } from "../../support/servers/token-issuer.ts";
import { tempDir } from "../../support/temp-dir.ts";

/** The registries of these tests are on this machine, so the settings have to name them. */
const settings = { allowed: [], insecure: ["127.0.0.1"], token_hosts: [], docker_config: "" };

const anonymous = createPinImage(settings, () => undefined);

const repository = "acme/sentinel";

const app = (registry: DockerRegistry, tag = "v1") => `${registry.host}/${repository}:${tag}`;

const push = (registry: DockerRegistry, content = "v1", tag = "v1") =>
  registry.push({ repository, tag, content });

/** As set by an operator, in the environment. */
function withPassword(registry: DockerRegistry, password: string) {
  const name = `REGISTRY_AUTH_${registry.host.replace(/[.:]/g, "_")}`;
  const environment = { [name]: `${registryUser.user}:${password}` };
  return createPinImage(settings, createFindCredential(environment, settings));
}

const refusal = (code: string, status: number) => expect.objectContaining({ code, status });

describe.skipIf(!hasPrograms("docker-registry"))("an open registry", () => {
  it("pins the digest that the tag has", async () => {
    const registry = await startDockerRegistry({ auth: "open" });
    const digest = await push(registry);

    const pinned = await anonymous(app(registry));

    expect(pinned).toBe(`${app(registry)}@${digest}`);
  });

  it("answers 404 to a request that accepts no kind of manifest, which is why ours does", async () => {
    const registry = await startDockerRegistry({ auth: "open" });
    await push(registry);

    const bare = await fetch(`http://${registry.host}/v2/${repository}/manifests/v1`, {
      method: "HEAD",
    });

    expect(bare.status).toBe(404);
  });

  it.each([
    { what: "tag", image: `${repository}:v9` },
    { what: "repository", image: "acme/other:v1" },
  ])("refuses an unknown $what", async ({ image }) => {
    const registry = await startDockerRegistry({ auth: "open" });
    await push(registry);

    const pinning = anonymous(`${registry.host}/${image}`);

    await expect(pinning).rejects.toEqual(refusal("image_not_found", 400));
  });

  it("keeps a digest when its tag has moved on", async () => {
    const registry = await startDockerRegistry({ auth: "open" });
    await push(registry, "old");
    const pinned = await anonymous(app(registry));
    const moved = await push(registry, "new");

    const again = await anonymous(pinned);

    expect(again).toBe(pinned);
    expect(await anonymous(app(registry))).toBe(`${app(registry)}@${moved}`);
  });

  it("confirms a digest without a tag, and adds none", async () => {
    const registry = await startDockerRegistry({ auth: "open" });
    const digest = await push(registry);

    const pinned = await anonymous(`${registry.host}/${repository}@${digest}`);

    expect(pinned).toBe(`${registry.host}/${repository}@${digest}`);
  });

  it("refuses a digest that the registry does not have", async () => {
    const registry = await startDockerRegistry({ auth: "open" });
    await push(registry);

    const pinning = anonymous(`${app(registry)}@sha256:${"0".repeat(64)}`);

    await expect(pinning).rejects.toEqual(refusal("image_not_found", 400));
  });

  it.each([
    { what: "tag", tag: "v2" },
    { what: "digest", tag: "v1" },
  ])("pins a $what that is pushed while the gate asks for it", async ({ tag }) => {
    const registry = await startDockerRegistry({ auth: "open" });
    const digest = await push(await startDockerRegistry({ auth: "open" }), "late", tag);
    let misses = 0;
    const front = await startFakeRegistry(async ({ path, method }) => {
      const headers = { accept: manifestTypes };
      const { status, headers: answered } = await fetch(`http://${registry.host}${path}`, {
        method,
        headers,
      });
      misses += status === 404 ? 1 : 0;
      if (misses === 3) await push(registry, "late", tag);
      const named = answered.get("docker-content-digest");
      return { status, headers: named === null ? {} : { "docker-content-digest": named } };
    });
    const pin = createPinImage({ ...settings, not_found_wait_seconds: 10 }, () => undefined);
    const name = `${front.host}/${repository}:${tag}`;

    const pinned = await pin(tag === "v1" ? `${name}@${digest}` : name);

    expect(pinned).toBe(`${name}@${digest}`);
    expect(misses).toBe(3);
  });

  it("does not report a missing image when the registry is down", async () => {
    const registry = await startDockerRegistry({ auth: "open" });
    await push(registry);
    await registry.stop();

    const pinning = anonymous(app(registry));

    await expect(pinning).rejects.toEqual(refusal("registry_unavailable", 503));
  });
});

describe.skipIf(!hasPrograms("docker-registry"))("a registry with a password", () => {
  it("pins an image with the right password", async () => {
    const registry = await startDockerRegistry({ auth: "htpasswd" });
    const digest = await push(registry);
    const pin = withPassword(registry, registryUser.password);

    expect(await pin(app(registry))).toBe(`${app(registry)}@${digest}`);
  });

  it("refuses a wrong password, without repeating it", async () => {
    const registry = await startDockerRegistry({ auth: "htpasswd" });
    await push(registry);
    const pin = withPassword(registry, "wrong-word");

    const error = await pin(app(registry)).catch((thrown: unknown) => thrown);

    expect(error).toEqual(refusal("registry_auth", 400));
    expect(String(error)).not.toContain("wrong-word");
  });

  it("refuses without a password, and says that the image may not exist", async () => {
    const registry = await startDockerRegistry({ auth: "htpasswd" });

    const pinning = anonymous(app(registry));

    await expect(pinning).rejects.toThrow("was not found, or");
  });

  it("distinguishes a missing image from a missing permission", async () => {
    const registry = await startDockerRegistry({ auth: "htpasswd" });
    const pin = withPassword(registry, registryUser.password);

    await expect(pin(app(registry))).rejects.toEqual(refusal("image_not_found", 400));
  });
});

describe.skipIf(!hasPrograms("docker-registry"))("a login of Docker's configuration", () => {
  const { user: username, password } = registryUser;
  const wrong = { username, password: "wrong-word" };

  it.each([
    ["of the registry", "", {}],
    ["of the repository's path", "/acme", { "": wrong, "/acme/other": wrong }],
    ["of the whole repository", "/acme/sentinel", { "": wrong, "/acme": wrong }],
  ])("opens the registry with the username and password %s", async (_, path, others) => {
    const registry = await startDockerRegistry({ auth: "htpasswd" });
    const digest = await push(registry);
    const logins = { ...others, [path]: { username, password } };
    const auths = Object.entries(logins).map(([key, login]) => [`${registry.host}${key}`, login]);
    const file = join(tempDir(), "config.json");
    writeFileSync(file, JSON.stringify({ auths: Object.fromEntries(auths) }));
    const find = createFindCredential({}, { ...settings, docker_config: file });

    const pinned = await createPinImage(settings, find)(app(registry));

    expect(pinned).toBe(`${app(registry)}@${digest}`);
  });
});

describe.skipIf(!hasPrograms("docker-registry", "openssl"))("a registry with tokens", () => {
  async function startWithTokens(times: { expiresInSeconds?: number; tokenSeconds?: number } = {}) {
    const issuer = await startTokenIssuer({ ...registryUser, refreshToken: "identity", ...times });
    const registry = await startDockerRegistry({ auth: "token", issuer });
    const digest = await push(registry);
    return { issuer, registry, digest };
  }

  it("fetches a token with the password, for reading this repository only", async () => {
    const { issuer, registry, digest } = await startWithTokens();
    const pin = withPassword(registry, registryUser.password);

    const pinned = await pin(app(registry));

    expect(pinned).toBe(`${app(registry)}@${digest}`);
    expect(issuer.requests).toEqual([{ method: "GET", scope: `repository:${repository}:pull` }]);
  });

  it("fetches a token with an identity token", async () => {
    const { issuer, registry, digest } = await startWithTokens();
    const pin = createPinImage(settings, () => ({ identityToken: "identity" }));

    const pinned = await pin(app(registry));

    expect(pinned).toBe(`${app(registry)}@${digest}`);
    expect(issuer.requests).toEqual([{ method: "POST", scope: `repository:${repository}:pull` }]);
  });

  it("reuses a token for the next image", async () => {
    const { issuer, registry } = await startWithTokens();
    await push(registry, "v2", "v2");
    const pin = withPassword(registry, registryUser.password);

    await pin(app(registry));
    await pin(app(registry, "v2"));

    expect(issuer.requests).toHaveLength(1);
  });

  it("fetches a new token when the old one has expired", async () => {
    const { issuer, registry } = await startWithTokens({ expiresInSeconds: 5 });
    const pin = withPassword(registry, registryUser.password);

    await pin(app(registry));
    await pin(app(registry));

    expect(issuer.requests).toHaveLength(2);
  });

  it.each([
    { who: "a wrong password", credential: { ...registryUser, password: "wrong" } },
    { who: "a wrong identity token", credential: { identityToken: "wrong" } },
    { who: "nobody", credential: undefined },
  ])("refuses $who", async ({ credential }) => {
    const { registry } = await startWithTokens();
    const pin = createPinImage(settings, () => credential);

    await expect(pin(app(registry))).rejects.toEqual(refusal("registry_auth", 400));
  });
});
