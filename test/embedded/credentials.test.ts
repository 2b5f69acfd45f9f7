import { createPrivateKey, createPublicKey, sign, verify } from "node:crypto";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import bs58 from "bs58";
import { expect, it } from "vitest";
import { loadCredentials, publicIdentity, writeIdentityKey } from "#embedded/credentials.ts";
import { tempDir } from "../support/temp-dir.ts";

it("generates secrets of 32 bytes on the first start", () => {
  const credentials = loadCredentials(tempDir());

  expect(Buffer.from(credentials.ingress_token, "base64url")).toHaveLength(32);
  expect(Buffer.from(credentials.database_password, "base64url")).toHaveLength(32);
  expect(credentials.root_key).toMatch(/^vedette_root_[\w-]{43}$/);
});

it("every installation has its own secrets", () => {
  const [one, other] = [loadCredentials(tempDir()), loadCredentials(tempDir())];

  const shared = Object.values(one).filter((value) => Object.values(other).includes(value));

  expect(shared).toEqual([]);
});

it("the credentials file keeps the secrets from start to start", () => {
  const directory = tempDir();
  const first = loadCredentials(directory);

  const second = loadCredentials(directory);

  expect(second).toEqual(first);
});

it("the credentials file keeps what a newer version has added", () => {
  const directory = tempDir();
  const file = path.join(directory, "credentials.json");
  writeFileSync(file, JSON.stringify({ ...loadCredentials(directory), added_later: "a-secret" }));

  loadCredentials(directory);

  expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({ added_later: "a-secret" });
});

it("the credentials file writes the secrets for the owner only", () => {
  const directory = tempDir();

  loadCredentials(directory);

  expect(statSync(path.join(directory, "credentials.json")).mode & 0o777).toBe(0o600);
});

it.each(["", "{", '{"ingress_token":"s3cret"}', '{"ingress_token": s3cret}'])(
  "refuses the damaged file %j, keeps it and does not quote it",
  (content) => {
    const directory = tempDir();
    const file = path.join(directory, "credentials.json");
    writeFileSync(file, content);

    const load = () => loadCredentials(directory);

    expect(load).toThrow(/^(?!.*s3cret).*credentials\.json is damaged/);
    expect(readFileSync(file, "utf8")).toBe(content);
  },
);

it("the credentials file says why a file cannot be read, and does not advise to delete it", () => {
  const directory = tempDir();
  mkdirSync(path.join(directory, "credentials.json"));

  expect(() => loadCredentials(directory)).toThrow(/credentials\.json cannot be read \(EISDIR\)$/);
});

it("the credentials file writes the identity key for the owner only", () => {
  const directory = tempDir();

  const file = writeIdentityKey(directory, loadCredentials(directory));

  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(createPrivateKey(readFileSync(file)).asymmetricKeyType).toBe("ed25519");
});

it("derives the public identity that checks the private one's signatures", () => {
  const credentials = loadCredentials(tempDir());
  const message = Buffer.from("message");
  const signature = sign(null, message, createPrivateKey(credentials.restate_identity_key));

  const identity = publicIdentity(credentials);

  const raw = Buffer.from(bs58.decode(identity.replace(/^publickeyv1_/, "")));
  const jwk = { kty: "OKP", crv: "Ed25519", x: raw.toString("base64url") };
  const key = createPublicKey({ key: jwk, format: "jwk" });
  expect(identity).toMatch(/^publickeyv1_/);
  expect(verify(null, message, key, signature)).toBe(true);
});
