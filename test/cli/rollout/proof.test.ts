import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { checkProof } from "#cli/rollout/proof.ts";
import { generateIdentityKey } from "#kernel/crypto.ts";
import { keyIdOf, publicKeyOf, signEnvelope } from "#kernel/dsse.ts";
import { ProofStatement, payloadType } from "#rollout/proof/contract.ts";
import { aStatement } from "../../support/rollout/proof-builders.ts";

const privateKey = generateIdentityKey();
const keys = JSON.stringify({ keys: [publicKeyOf(privateKey)] });

const proofOf = (statement: unknown, type = payloadType) =>
  signEnvelope(type, JSON.stringify(statement), privateKey);

describe("a proof", () => {
  it("holds with the key that has signed it, however its JSON is laid out", () => {
    const proof = JSON.stringify(proofOf(aStatement), null, 2);

    expect(checkProof(proof, keys)).toEqual({
      verified: true,
      key_id: keyIdOf(publicKeyOf(privateKey)),
      statement: aStatement,
    });
  });

  it("of another content is found, and nothing of it is answered", () => {
    const other = proofOf({ ...aStatement, subject: [] });
    const proof = { ...proofOf(aStatement), payload: other.payload };

    expect(checkProof(JSON.stringify(proof), keys)).toEqual({
      verified: false,
      code: "changed",
      reason: expect.stringContaining("do not trust it"),
    });
  });

  it("of another key names both, and where the keys are", () => {
    const other = publicKeyOf(generateIdentityKey());

    const checked = checkProof(JSON.stringify(proofOf(aStatement)), JSON.stringify(other));

    expect(checked).toMatchObject({ verified: false, code: "unknown_key" });
    const { reason } = checked as { reason: string };
    expect(reason).toContain(keyIdOf(publicKeyOf(privateKey)));
    expect(reason).toContain(keyIdOf(other));
    expect(reason).toContain("/.well-known/vedette-proof-keys.json");
  });

  it.each([
    ["payload", proofOf(aStatement, "application/json")],
    ["statement", proofOf({ ...aStatement, _type: "https://in-toto.io/Statement/v0.1" })],
    ["predicate", proofOf({ ...aStatement, predicateType: "https://slsa.dev/provenance/v1" })],
  ])("of another type of %s is signed, and refused", (_what, proof) => {
    expect(checkProof(JSON.stringify(proof), keys)).toMatchObject({ code: "other_type" });
  });

  it.each(["", "null", "{}", '{"payload":""}'])("is not in the file %j", (text) => {
    expect(checkProof(text, keys)).toMatchObject({ verified: false, code: "no_proof" });
  });

  it("is not verified by a file without a public key", () => {
    expect(() => checkProof(JSON.stringify(proofOf(aStatement)), privateKey)).toThrow(
      "--key: the file has no Ed25519 public key; take the keys from",
    );
  });
});

describe("schema/rollout-proof.schema.json", () => {
  const committed = JSON.parse(readFileSync("schema/rollout-proof.schema.json", "utf8"));

  it("is the one of the statement (else: node schema/write.ts)", () => {
    expect(committed).toEqual(JSON.parse(JSON.stringify(z.toJSONSchema(ProofStatement))));
  });

  it("allows a statement, and none without its digest", () => {
    const isValid = new Ajv2020({ strict: false, validateFormats: false }).compile(committed);
    const [subject] = aStatement.subject;

    expect(isValid(aStatement)).toBe(true);
    expect(isValid({ ...aStatement, subject: [{ name: subject.name }] })).toBe(false);
  });
});
