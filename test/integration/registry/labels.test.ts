/** The labels of images in a real registry. */
import { describe, expect, it } from "vitest";
import { createRegistryClient } from "#registry/client.ts";
import { createReadLabels } from "#registry/labels.ts";
import {
  type DockerRegistry,
  descriptorOf,
  startDockerRegistry,
} from "../../support/servers/docker-registry.ts";
import { startFakeRegistry } from "../../support/servers/fake-registry.ts";
import { hasPrograms } from "../../support/servers/programs.ts";

const settings = { allowed: [], insecure: ["127.0.0.1"], token_hosts: [], docker_config: "" };

const readLabels = createReadLabels(createRegistryClient(settings, () => undefined));

const repository = "acme/sentinel";
const imageIndex = "application/vnd.oci.image.index.v1+json";
const imageManifest = "application/vnd.oci.image.manifest.v1+json";

const read = async ({ host }: Pick<DockerRegistry, "host">, digest: string) =>
  Object.fromEntries(await readLabels(`${host}/${repository}:v1@${digest}`));

/** Of an index of images with these labels, one for each platform; answers the digest. */
async function pushPlatforms(registry: DockerRegistry, platforms: Record<string, string>[]) {
  const digests: string[] = [];
  for (const [i, labels] of platforms.entries()) {
    digests.push(await registry.push({ repository, tag: `p${i}`, content: `p${i}`, labels }));
  }
  const manifests = digests.map((digest) => ({ mediaType: imageManifest, digest, size: 1 }));
  return putIndex(registry, manifests);
}

const putIndex = (registry: DockerRegistry, manifests: object[]) =>
  registry.put({
    repository,
    reference: "v1",
    mediaType: imageIndex,
    manifest: { schemaVersion: 2, mediaType: imageIndex, manifests },
  });

describe.skipIf(!hasPrograms("docker-registry"))("labels in a real registry", () => {
  it("are those of the image", async () => {
    const registry = await startDockerRegistry({ auth: "open" });
    const labels = { "org.example.tests": "passed" };
    const digest = await registry.push({ repository, tag: "v1", content: "v1", labels });

    expect(await read(registry, digest)).toEqual(labels);
  });

  it("are none of an image without any", async () => {
    const registry = await startDockerRegistry({ auth: "open" });
    const digest = await registry.push({ repository, tag: "v1", content: "v1" });

    expect(await read(registry, digest)).toEqual({});
  });

  it("are those that all platforms have with one value", async () => {
    const registry = await startDockerRegistry({ auth: "open" });
    const digest = await pushPlatforms(registry, [
      { revision: "a", tests: "passed" },
      { revision: "a", tests: "failed", only: "amd64" },
    ]);

    expect(await read(registry, digest)).toEqual({ revision: "a" });
  });

  it("are not those of BuildKit's attestations, which are no platform", async () => {
    const registry = await startDockerRegistry({ auth: "open" });
    const labels = { tests: "passed" };
    const image = await registry.push({ repository, tag: "p", content: "p", labels });
    const attestation = await registry.push({ repository, tag: "a", content: "a" });
    const digest = await putIndex(registry, [
      { mediaType: imageManifest, digest: image, size: 1 },
      {
        mediaType: imageManifest,
        digest: attestation,
        size: 1,
        annotations: { "vnd.docker.reference.type": "attestation-manifest" },
      },
    ]);

    expect(await read(registry, digest)).toEqual(labels);
  });

  it("of an image that is gone cannot be read", async () => {
    const registry = await startDockerRegistry({ auth: "open" });

    const reading = read(registry, `sha256:${"0".repeat(64)}`);

    await expect(reading).rejects.toMatchObject({ code: "image_not_found" });
  });
});

describe("a registry that lies", () => {
  const configuration = Buffer.from(JSON.stringify({ config: { Labels: { tests: "passed" } } }));
  const manifest = Buffer.from(JSON.stringify({ config: descriptorOf(configuration) }));

  it("about a manifest is not believed", async () => {
    const registry = await startFakeRegistry(() => ({ status: 200, body: String(manifest) }));

    const reading = read(registry, `sha256:${"ab".repeat(32)}`);

    await expect(reading).rejects.toMatchObject({
      code: "registry_unavailable",
      message: expect.stringContaining("does not match"),
    });
  });

  it("about a configuration is not believed", async () => {
    const other = JSON.stringify({ config: { Labels: { tests: "forged" } } });
    const registry = await startFakeRegistry(({ path }) => ({
      status: 200,
      body: path.includes("/manifests/") ? String(manifest) : other,
    }));

    const reading = read(registry, descriptorOf(manifest).digest);

    await expect(reading).rejects.toMatchObject({ code: "registry_unavailable" });
  });

  it.each([
    ["a number", { tests: 1, scan: "clean" }, { scan: "clean" }],
    ["a list", ["tests"], {}],
    ["nothing", null, {}],
  ])("has labels that are %s", async (_, labels, expected) => {
    const odd = Buffer.from(JSON.stringify({ config: { Labels: labels } }));
    const own = Buffer.from(JSON.stringify({ config: descriptorOf(odd) }));
    const registry = await startFakeRegistry(({ path }) => ({
      status: 200,
      body: String(path.includes("/manifests/") ? own : odd),
    }));

    expect(await read(registry, descriptorOf(own).digest)).toEqual(expected);
  });

  it("has an index of a thousand platforms: nobody reads them all", async () => {
    const manifests = Array.from({ length: 1_000 }, () => descriptorOf(manifest));
    const index = Buffer.from(JSON.stringify({ manifests }));
    const registry = await startFakeRegistry(() => ({ status: 200, body: String(index) }));

    const reading = read(registry, descriptorOf(index).digest);

    await expect(reading).rejects.toMatchObject({ code: "image_unreadable" });
    expect(registry.requests).toHaveLength(1);
  });

  it("has a configuration that is larger than anybody needs: that is the image's fault", async () => {
    const large = Buffer.alloc(5 * 1_024 * 1_024, " ");
    const own = Buffer.from(JSON.stringify({ config: descriptorOf(large) }));
    const registry = await startFakeRegistry(({ path }) => ({
      status: 200,
      body: String(path.includes("/manifests/") ? own : large),
    }));

    const reading = read(registry, descriptorOf(own).digest);

    await expect(reading).rejects.toMatchObject({ code: "image_unreadable" });
  });
});
