/** Whatever is attached, a check neither passes nor rejects nor takes long because of it. */
import fc from "fast-check";
import { expect, it } from "vitest";
import type { Attachment } from "#ci/finding.ts";
import { sigstoreConfig } from "#ci/sigstore/config.ts";
import { createSigstore } from "#ci/sigstore/sigstore.ts";
import { attach, createSigner, simpleSigningOf } from "../../../support/ci/signer.ts";
import { createBench, subject } from "../../../support/ci/sigstore-bench.ts";

const signer = await createSigner();
const { trustedRoot } = signer;
const { digest } = subject;
const good = await signer.signStatement({ digest });
const layer = await signer.signSimpleSigning(simpleSigningOf(digest));

const mediaTypes = [layer.mediaType, "application/vnd.dsse.envelope.v1+json"];

it("arbitrary bytes prove nothing", async () => {
  const bench = createBench(trustedRoot);
  const bytes = fc.uint8Array({ maxLength: 200 }).map((array) => Buffer.from(array));
  const check = fc.asyncProperty(bytes, fc.constantFrom(...mediaTypes), async (body, mediaType) => {
    const { result } = await bench.checkSignature(attach(body), { ...layer, mediaType, body });
    expect(result).toBe("unverifiable");
  });

  await fc.assert(check, { numRuns: 200 });
});

it("arbitrary JSON proves nothing", async () => {
  const bench = createBench(trustedRoot);
  const check = fc.asyncProperty(fc.jsonValue(), async (value) => {
    const { result } = await bench.checkProvenance(attach(value));
    expect(result).toBe("unverifiable");
  });

  await fc.assert(check, { numRuns: 300 });
});

it("arbitrary annotations prove nothing", async () => {
  const bench = createBench(trustedRoot);
  const name = fc.constantFrom(...Object.keys(layer.annotations), "__proto__", "constructor");
  const annotation = fc.tuple(name, fc.oneof(fc.string(), fc.json()));
  const check = fc.asyncProperty(fc.array(annotation, { maxLength: 4 }), async (entries) => {
    const annotations = Object.fromEntries(entries);
    const { result } = await bench.checkSignature({ ...layer, annotations });
    expect(result).toBe("unverifiable");
  });

  await fc.assert(check, { numRuns: 200 });
});

/** All places in a value, as paths. */
function placesIn(value: unknown, path: readonly string[] = []): string[][] {
  if (typeof value !== "object" || value === null) return [[...path]];
  const inner = Object.entries(value).flatMap(([key, child]) => placesIn(child, [...path, key]));
  return [[...path], ...inner];
}

/** A copy with another value at one place. */
function replaced(value: unknown, path: readonly string[], other: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return other;
  const copy = (Array.isArray(value) ? [...value] : { ...(value as object) }) as never;
  Reflect.set(copy, key, replaced(Reflect.get(copy, key), rest, other));
  return copy;
}

it("a valid bundle with anything in one of its places never rejects", async () => {
  const bench = createBench(trustedRoot);
  const place = fc.constantFrom(...placesIn(good));
  const check = fc.asyncProperty(place, fc.jsonValue(), async (path, value) => {
    const { result } = await bench.checkSignature(attach(replaced(good, path, value)));
    expect(result).toMatch(/^(passed|unverifiable|missing)$/);
  });

  await fc.assert(check, { numRuns: 500 });
});

const payload = Buffer.from(good.dsseEnvelope.payload, "base64");

it("a signed payload with one other byte proves nothing", async () => {
  const bench = createBench(trustedRoot);
  const place = fc.integer({ min: 0, max: payload.length - 1 });
  const check = fc.asyncProperty(place, fc.integer({ min: 1, max: 255 }), async (at, change) => {
    const bytes = Buffer.from(payload);
    bytes[at] = (bytes[at] ?? 0) ^ change;
    const dsseEnvelope = { ...good.dsseEnvelope, payload: bytes.toString("base64") };
    const { result } = await bench.checkSignature(attach({ ...good, dsseEnvelope }));
    expect(result).not.toBe("passed");
  });

  await fc.assert(check, { numRuns: 300 });
});

it.each([
  ["more than 1 MiB", Buffer.alloc(1024 * 1024 + 1, " "), "larger than 1 MiB"],
  [
    "a megabyte of brackets",
    Buffer.from("[".repeat(2 ** 19) + "]".repeat(2 ** 19)),
    "nested deeper than 100",
  ],
  ["bytes that are no text", Buffer.from([0xff, 0xfe]), "is not text"],
  ["nothing", Buffer.alloc(0), "is not JSON"],
  ["a bundle behind __proto__", Buffer.from(`{"__proto__":${JSON.stringify(good)}}`), "invalid"],
])("%s proves nothing", async (_name, body, reason) => {
  const finding = await createBench(trustedRoot).checkSignature(attach(body));

  expect(finding.result).toBe("unverifiable");
  expect(finding.detail).toContain(reason);
});

it("brackets in text are not nested", async () => {
  const predicate = { text: `\\"${"[{".repeat(100)}` };
  const bundle = await signer.signStatement({ digest, predicate });

  const { result } = await createBench(trustedRoot).checkSignature(attach(bundle));

  expect(result).toBe("passed");
});

it("a signed statement with __proto__ in it changes no object", async () => {
  const [before, after] = payload.toString().split('"predicate":{}');
  const odd = Buffer.from(
    `${before}"__proto__":{"odd":1},"predicate":{"__proto__":{"odd":1}}${after}`,
  );
  const bundle = await signer.signEnvelope(odd);

  const { result } = await createBench(trustedRoot).checkSignature(attach(bundle));

  expect(result).toBe("passed");
  expect({}).not.toHaveProperty("odd");
});

it.each([
  ["entries of a log", { tlogEntries: fill(9, good.verificationMaterial.tlogEntries[0]) }],
  ["timestamps", { timestampVerificationData: { rfc3161Timestamps: fill(9, {}) } }],
])("too many %s are not compared", async (what, material) => {
  const verificationMaterial = { ...good.verificationMaterial, ...material };

  const finding = await createBench(trustedRoot).checkSignature(
    attach({ ...good, verificationMaterial }),
  );

  expect(finding.detail).toContain(`has too many ${what}`);
});

function fill<Item>(length: number, item: Item): Item[] {
  return Array.from({ length }, () => item);
}

it("junk beside a good bundle does no harm", async () => {
  const junk = fill(49, attach(Buffer.from("junk")));

  const { result } = await createBench(trustedRoot).checkSignature(...junk, attach(good));

  expect(result).toBe("passed");
});

it("more than 50 are not looked at, and the answer says so", async () => {
  const junk = fill(50, attach(Buffer.from("junk")));

  const finding = await createBench(trustedRoot).checkSignature(...junk, attach(good));

  expect(finding).toMatchObject({
    result: "unverifiable",
    detail: expect.stringContaining("none of 50 attached is a valid signature; 1 more"),
  });
});

it("the answer is clean and has at most 500 characters", async () => {
  const name = `\u202e\n${"n".repeat(300)}`;
  const subject = `https://a.test/\u0007${"x".repeat(900)}`;
  const bundle = await signer.signStatement({ digest }, { subject });

  const { detail } = await createBench(trustedRoot).checkSignature(
    ...fill(4, attach(bundle, name)),
  );

  expect(detail).toMatch(/^[\x20-\x7e]{100,500}$/);
});

it("an attachment is read once for both kinds", async () => {
  let reads = 0;
  const attachment: Attachment = {
    kind: "bundle",
    name: "counted",
    get body() {
      reads++;
      return Buffer.from(JSON.stringify(good));
    },
  };
  const list = [attachment];
  const settings = { public_keys: [], transparency_log: false };
  const sigstore = createSigstore(sigstoreConfig.parse(settings), { cacheDir: "/nowhere" });

  await Promise.all([
    sigstore.checkSignature(subject, list),
    sigstore.checkProvenance(subject, list),
  ]);

  expect(reads).toBe(1);
});

it("a trusted root that cannot be used is no word about the image", async () => {
  const bench = createBench({ ...trustedRoot, tlogs: [{ publicKey: { rawBytes: "AAAA" } }] });

  const finding = await bench.checkSignature(attach(good));

  expect(finding).toMatchObject({
    result: "unavailable",
    detail: expect.stringContaining("the trusted root of Sigstore cannot be loaded"),
  });
});

it("whom to trust does not matter when nothing that is attached could be signed", async () => {
  const bench = createBench({ ...trustedRoot, tlogs: [{ publicKey: { rawBytes: "AAAA" } }] });

  const { result } = await bench.checkSignature({ ...layer, mediaType: "text/spdx+json" });

  expect(result).toBe("missing");
});

it("what the library stumbles over is told in plain words", async () => {
  const timestampVerificationData = { rfc3161Timestamps: [{ signedTimestamp: "MAA=" }] };
  const verificationMaterial = { ...good.verificationMaterial, timestampVerificationData };

  const { detail } = await createBench(trustedRoot).checkSignature(
    attach({ ...good, verificationMaterial }, "odd"),
  );

  expect(detail).toBe("none of 1 attached is a valid signature; odd: is malformed");
});

it("a file that is no trusted root ends the start", () => {
  expect(() => createBench({ mediaType: "text/plain" })).toThrow(
    "trusted_root.json is not a trusted root of Sigstore as JSON",
  );
});
