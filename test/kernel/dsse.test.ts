import { createPublicKey, generateKeyPairSync, verify } from "node:crypto";
import { describe, expect, it } from "vitest";
import { generateIdentityKey } from "#kernel/crypto.ts";
import {
  Envelope,
  keyIdOf,
  openEnvelope,
  publicKeyOf,
  readPublicKeys,
  signEnvelope,
} from "#kernel/dsse.ts";

const privateKey = generateIdentityKey();
const key = publicKeyOf(privateKey);
const type = "application/vnd.in-toto+json";
const envelope = signEnvelope(type, '{"grüße":1}', privateKey);

/** The bytes that the signature is of, written down by hand from the specification. */
const signed = Buffer.from(`DSSEv1 28 ${type} 13 {"grüße":1}`);

function pemOf(of: string): string {
  return createPublicKey(of).export({ type: "spki", format: "pem" }).toString();
}

/** Returns the statement of a text, if it is an envelope that this key has signed. */
function open(text: string): string | undefined {
  try {
    return openEnvelope(Envelope.parse(JSON.parse(text)), key)?.toString();
  } catch {
    return undefined;
  }
}

describe("an envelope", () => {
  it("is opened by the key that has signed it, and by no other one", () => {
    const other = publicKeyOf(generateIdentityKey());

    expect(open(JSON.stringify(envelope))).toBe('{"grüße":1}');
    expect(openEnvelope(envelope, other)).toBeUndefined();
  });

  it("with any one byte changed is opened by nobody", () => {
    const bytes = Buffer.from(JSON.stringify(envelope));
    const changes = [...bytes.keys()].flatMap((at) =>
      [1, 2, 4, 8, 16, 32, 64, 128].map((bit) => {
        const changed = Buffer.from(bytes);
        changed[at] = (changed[at] as number) ^ bit;
        return { at, bit, text: changed.toString() };
      }),
    );

    expect(changes.length).toBeGreaterThan(1_500);
    expect(changes.filter(({ text }) => open(text) !== undefined)).toEqual([]);
  });

  it("has a signature that node:crypto verifies over the bytes of the specification", () => {
    const [{ sig }] = envelope.signatures;
    const isSigned = verify(null, signed, pemOf(privateKey), Buffer.from(sig, "base64"));

    expect(isSigned).toBe(true);
  });

  it("names its key by the thumbprint of RFC 8037", () => {
    const x = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";

    expect(keyIdOf({ kty: "OKP", crv: "Ed25519", x })).toBe(
      "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k",
    );
  });
});

describe("a file of public keys", () => {
  it.each([
    ["PEM", pemOf(privateKey)],
    ["a web key", JSON.stringify({ ...key, kid: "a" })],
    ["a set of web keys", JSON.stringify({ keys: [{ kty: "RSA", n: "x" }, key] })],
  ])("has them as %s", (_form, text) => {
    expect(readPublicKeys(text)).toEqual([key]);
  });

  it.each([
    ["a private key", privateKey],
    ["an EC key", ecKey()],
    ["a key of another length", JSON.stringify({ ...key, x: "AAAA" })],
    ["no key", "hello"],
    ["null", "null"],
  ])("has none as %s", (_form, text) => {
    expect(readPublicKeys(text)).toEqual([]);
  });
});

function ecKey(): string {
  const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return publicKey.export({ type: "spki", format: "pem" }).toString();
}
