/** What is attached to images: by referrers, by the tag schema before them, by cosign's own tags. */
import { describe, expect, it } from "vitest";
import { createReadAttachments } from "#registry/attachments.ts";
import { createRegistryClient } from "#registry/client.ts";
import {
  type DockerRegistry,
  descriptorOf,
  startDockerRegistry,
} from "../../support/servers/docker-registry.ts";
import { type RegistryReply, startFakeRegistry } from "../../support/servers/fake-registry.ts";
import { hasPrograms } from "../../support/servers/programs.ts";
import { waitFor } from "../../support/wait-for.ts";

const settings = { allowed: [], insecure: ["127.0.0.1"], token_hosts: [], docker_config: "" };

const readAttachments = createReadAttachments(createRegistryClient(settings, () => undefined));

const repository = "acme/sentinel";
const bundleType = "application/vnd.dev.sigstore.bundle.v0.3+json";
const indexType = "application/vnd.oci.image.index.v1+json";
const cosignType = "application/vnd.dev.cosign.simplesigning.v1+json";

const read = ({ host }: { host: string }, digest: string) =>
  readAttachments(`${host}/${repository}:v1@${digest}`);

const bodiesIn = ({ attachments }: Awaited<ReturnType<typeof read>>) =>
  attachments.map(({ kind, body }) => [kind, String(body)]);

/** An artifact whose one layer is `blob`. */
function artifactOf(blob: Buffer, mediaType = bundleType, annotations = {}) {
  const layer = { mediaType, ...descriptorOf(blob), annotations };
  return { schemaVersion: 2, artifactType: mediaType, config: descriptorOf(blob), layers: [layer] };
}

const tagOf = (digest: string) => digest.replace(":", "-");

const pushImage = (registry: DockerRegistry) =>
  registry.push({ repository, tag: "v1", content: "v1" });

describe.skipIf(!hasPrograms("docker-registry"))("a registry that knows no referrers", () => {
  it("has bundles under the tag that refers to the digest", async () => {
    const registry = await startDockerRegistry({ auth: "open" });
    const digest = await pushImage(registry);
    const bundle = Buffer.from('{"a":"bundle"}');
    const manifest = artifactOf(bundle);
    const artifact = await registry.put({ repository, manifest, blobs: [bundle] });
    const manifests = [
      { mediaType: "application/vnd.oci.image.manifest.v1+json", digest: artifact, size: 1 },
    ].map((one) => ({ ...one, artifactType: bundleType }));
    await registry.put({
      repository,
      reference: tagOf(digest),
      mediaType: indexType,
      manifest: { schemaVersion: 2, mediaType: indexType, manifests },
    });

    const found = await read(registry, digest);

    expect(bodiesIn(found)).toEqual([["bundle", '{"a":"bundle"}']]);
    expect(found.troubles).toEqual([]);
  });

  it("has signatures and attestations under cosign's tags", async () => {
    const registry = await startDockerRegistry({ auth: "open" });
    const digest = await pushImage(registry);
    const payload = Buffer.from("payload");
    const annotations = { "dev.cosignproject.cosign/signature": "c2ln" };
    for (const suffix of ["sig", "att"]) {
      await registry.put({
        repository,
        reference: `${tagOf(digest)}.${suffix}`,
        manifest: artifactOf(payload, cosignType, annotations),
        blobs: [payload],
      });
    }

    const found = await read(registry, digest);

    const [first] = found.attachments;
    expect(found.attachments).toHaveLength(2);
    expect(first).toMatchObject({ kind: "cosign", mediaType: cosignType, annotations });
    expect(String(first?.body)).toBe("payload");
  });

  it("has nothing attached, and the manifest all the same", async () => {
    const registry = await startDockerRegistry({ auth: "open" });
    const digest = await pushImage(registry);

    const found = await read(registry, digest);

    expect(found).toMatchObject({ attachments: [], troubles: [] });
    expect(descriptorOf(found.manifest).digest).toBe(digest);
  });
});

const manifest = Buffer.from('{"schemaVersion":2}');
const { digest } = descriptorOf(manifest);
const bundle = Buffer.from('{"a":"bundle"}');
const artifact = Buffer.from(JSON.stringify(artifactOf(bundle)));

type Pages = (page: string) => RegistryReply;

/** A registry with referrers, in these pages; `blob`: the layer of each. */
function startReferrers(
  pages: Pages,
  blob: Buffer | ((path: string) => Buffer) = bundle,
  of = artifact,
) {
  return startFakeRegistry(({ path }) => {
    if (path.includes("/referrers/")) return pages(path.split("?")[1] ?? "");
    if (path.endsWith(digest)) return { status: 200, body: String(manifest) };
    if (path.endsWith(descriptorOf(of).digest)) return { status: 200, body: String(of) };
    const layer = typeof blob === "function" ? blob(path) : blob;
    if (path.includes("/blobs/")) return { status: 200, body: String(layer) };
    return { status: 404 };
  });
}

const referrer = { artifactType: bundleType, digest: descriptorOf(artifact).digest };
const page = (manifests: object[], headers = {}): RegistryReply => ({
  status: 200,
  headers,
  body: JSON.stringify({ manifests }),
});

describe("a registry that knows referrers", () => {
  it("lists them in pages", async () => {
    const registry = await startReferrers((query) =>
      query === ""
        ? page([], { link: `</v2/${repository}/referrers/${digest}?last=x>; rel="next"` })
        : page([referrer]),
    );

    const found = await read(registry, digest);

    expect(bodiesIn(found)).toEqual([["bundle", '{"a":"bundle"}']]);
  });

  it("lists other things, which nobody reads", async () => {
    const registry = await startReferrers(() =>
      page([{ ...referrer, artifactType: "application/spdx+json" }]),
    );

    const found = await read(registry, digest);

    expect(found.attachments).toEqual([]);
    expect(registry.requests.filter(({ path }) => path.includes("/blobs/"))).toEqual([]);
  });

  it("has pages without end: ten are read", async () => {
    const link = `</v2/${repository}/referrers/${digest}?last=x>; rel="next"`;
    const registry = await startReferrers(() => page([], { link }));

    await read(registry, digest);

    expect(registry.requests.filter(({ path }) => path.includes("/referrers/"))).toHaveLength(10);
  });

  it("sends nobody to another host for the next page", async () => {
    const other = await startFakeRegistry(() => page([]));
    const link = `<http://${other.host}/v2/x/referrers/y?last=x>; rel="next"`;
    const registry = await startReferrers((query) => page([], query === "" ? { link } : {}));

    await read(registry, digest);

    expect(other.requests).toEqual([]);
  });

  it("has more of them than anybody needs: fifty are read", async () => {
    const registry = await startReferrers(() => page(Array.from({ length: 500 }, () => referrer)));

    const found = await read(registry, digest);

    expect(found.attachments).toHaveLength(50);
    expect(found.omitted).toBe(450);
  });

  it.each(["", "application/vnd.oci.empty.v1+json"])(
    "lists one of the type %j, as some clients do: its layers say what it is",
    async (artifactType) => {
      const registry = await startReferrers(() => page([{ ...referrer, artifactType }]));

      const found = await read(registry, digest);

      expect(bodiesIn(found)).toEqual([["bundle", '{"a":"bundle"}']]);
    },
  );

  it("lists an image as a referrer, whose layers nobody reads", async () => {
    const image = Buffer.from(
      JSON.stringify(artifactOf(bundle, "application/vnd.oci.image.layer")),
    );
    const one = { artifactType: "", digest: descriptorOf(image).digest };
    const registry = await startReferrers(() => page([one]), bundle, image);

    const found = await read(registry, digest);

    expect(found).toMatchObject({ attachments: [], omitted: 0 });
    expect(registry.requests.filter(({ path }) => path.includes("/blobs/"))).toEqual([]);
  });

  it("has one that is gone: the others are read", async () => {
    const gone = { ...referrer, digest: `sha256:${"0".repeat(64)}` };
    const registry = await startReferrers(() => page([gone, referrer]));

    const found = await read(registry, digest);

    expect(bodiesIn(found)).toEqual([["bundle", '{"a":"bundle"}']]);
    expect(found).toMatchObject({ omitted: 1, troubles: [] });
  });

  it.each([
    ["more than it should be", 10, 1_024],
    ["more than we read of one", 2_097_152, 2_097_152],
    ["more than an answer may have", 10, 5_242_880],
  ])("has a layer of %s: the one beside it is read", async (_, said, real) => {
    const large = Buffer.alloc(real, " ");
    const [small] = artifactOf(bundle).layers;
    const layers = [{ ...small, ...descriptorOf(large), size: said }, small];
    const both = Buffer.from(JSON.stringify({ layers }));
    const one = { artifactType: bundleType, digest: descriptorOf(both).digest };
    const registry = await startReferrers(
      () => page([one]),
      (path) => (path.endsWith(descriptorOf(large).digest) ? large : bundle),
      both,
    );

    const found = await read(registry, digest);

    expect(bodiesIn(found)).toEqual([["bundle", '{"a":"bundle"}']]);
    expect(found).toMatchObject({ omitted: 1, troubles: [] });
  });

  it("has ten megabytes of small ones: eight are read", async () => {
    const megabyte = Buffer.alloc(1_048_576, " ");
    const [layer] = artifactOf(megabyte).layers;
    const many = Buffer.from(JSON.stringify({ layers: Array.from({ length: 10 }, () => layer) }));
    const one = { artifactType: bundleType, digest: descriptorOf(many).digest };
    const registry = await startReferrers(() => page([one]), megabyte, many);

    const found = await read(registry, digest);

    expect(found.attachments).toHaveLength(8);
    expect(found.omitted).toBe(2);
    expect(registry.requests.filter(({ path }) => path.includes("/blobs/"))).toHaveLength(8);
  });

  it("has a layer of less than nothing, which makes no room for ten megabytes of others", async () => {
    const megabyte = Buffer.alloc(1_048_576, " ");
    const [layer] = artifactOf(megabyte).layers;
    const layers = [{ ...layer, size: -100_000_000 }, ...Array.from({ length: 10 }, () => layer)];
    const many = Buffer.from(JSON.stringify({ layers }));
    const one = { artifactType: bundleType, digest: descriptorOf(many).digest };
    const registry = await startReferrers(() => page([one]), megabyte, many);

    expect((await read(registry, digest)).attachments).toHaveLength(8);
  });

  it("has a layer without annotations, which some write as null", async () => {
    const [layer] = artifactOf(bundle).layers;
    const plain = Buffer.from(JSON.stringify({ layers: [{ ...layer, annotations: null }] }));
    const one = { artifactType: bundleType, digest: descriptorOf(plain).digest };
    const registry = await startReferrers(() => page([one]), bundle, plain);

    expect((await read(registry, digest)).attachments).toHaveLength(1);
  });

  it("sends us to another host's refusal: the tag is asked for instead", async () => {
    const other = await startFakeRegistry(() => ({ status: 429 }));
    const location = `http://${other.host}/packages`;
    const registry = await startReferrers(() => ({ status: 303, headers: { location } }));

    const found = await read(registry, digest);

    expect(found).toMatchObject({ attachments: [], troubles: [] });
    const asked = registry.requests.map(({ path }) => path);
    expect(asked).toContain(`/v2/${repository}/manifests/${tagOf(digest)}`);
  });

  it.each([406, 410, 422])("answers %i, as one that does not know the question", async (status) => {
    const registry = await startReferrers(() => ({ status }));

    expect(await read(registry, digest)).toMatchObject({ attachments: [], troubles: [] });
  });

  it("is given up when nobody waits any more", async () => {
    const registry = await startReferrers(() => "hang");
    const waiting = new AbortController();

    const reading = readAttachments(`${registry.host}/${repository}:v1@${digest}`, waiting.signal);
    await waitFor(() => registry.requests.some(({ path }) => path.includes("/referrers/")), {
      withinMs: 10_000,
      what: "the question for referrers",
    });
    waiting.abort();

    // Cosign's tags are read beside them, and may be given up too.
    const { troubles } = await reading;
    expect(new Set(troubles)).toEqual(new Set(["This operation was aborted"]));
    expect(registry.requests.filter(({ path }) => path.includes("/referrers/"))).toHaveLength(1);
  });

  it("has a layer that is said to be a gigabyte: it is not read", async () => {
    const [layer] = artifactOf(bundle).layers;
    const large = Buffer.from(JSON.stringify({ layers: [{ ...layer, size: 1_073_741_824 }] }));
    const one = { artifactType: bundleType, digest: descriptorOf(large).digest };
    const registry = await startReferrers(() => page([one]), bundle, large);

    const found = await read(registry, digest);

    expect(found).toMatchObject({ attachments: [], omitted: 1 });
  });

  it("has another layer than its digest says: that is trouble, and no attachment", async () => {
    const registry = await startReferrers(() => page([referrer]), Buffer.from("forged"));

    const found = await read(registry, digest);

    expect(found.attachments).toEqual([]);
    expect(found.troubles).toEqual([expect.stringContaining("does not match")]);
  });

  it("is down for the referrers alone: that is trouble, and cosign's tags are read", async () => {
    const registry = await startReferrers(() => ({ status: 503 }));

    const found = await read(registry, digest);

    expect(found.troubles).toEqual([expect.stringContaining("status 503")]);
  });

  it.each(["<!doctype html>", "[]", '{"manifests":{}}', "null"])(
    "answers %s, as one that does not know the question",
    async (body) => {
      const registry = await startReferrers(() => ({ status: 200, body }));

      expect(await read(registry, digest)).toMatchObject({ attachments: [], troubles: [] });
    },
  );
});
