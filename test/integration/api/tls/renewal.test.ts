import { createPrivateKey, X509Certificate } from "node:crypto";
import { describe, expect, it } from "vitest";
import { ProblemError } from "#kernel/problem.ts";
import { prepareCertificates } from "../../../support/http/certificates.ts";
import { prepareDatabase } from "../../../support/run/prepare-database.ts";
import { waitFor } from "../../../support/wait-for.ts";

const { database } = prepareDatabase();

const count = async (table: string) => {
  const { rows } = await database().query(`SELECT count(*)::int AS count FROM ${table}`);
  return rows[0].count as number;
};

describe("the renewal of certificates", () => {
  it("gets one for all names, signed by the authority, with the private key that fits", async () => {
    const { renew, store, names, directory } = await prepareCertificates(database());

    const { isNew } = await renew();

    expect(isNew).toBe(true);
    const { chain = "", privateKey = "" } = (await store.read(names)) ?? {};
    const certificate = new X509Certificate(chain);
    expect(names.every((name) => certificate.checkHost(name) === name)).toBe(true);
    expect(certificate.verify(new X509Certificate(directory.root).publicKey)).toBe(true);
    expect(certificate.checkPrivateKey(createPrivateKey(privateKey))).toBe(true);
  });

  it("leaves one alone that is good for long", async () => {
    const { renew, directory } = await prepareCertificates(database());
    const first = await renew();

    const second = await renew(59);

    expect(second).toEqual({ isNew: false, expiresMs: first.expiresMs });
    expect(directory.orders).toHaveLength(1);
  });

  it("replaces one that is due, by the same account and with another private key", async () => {
    const { renew, store, names, directory } = await prepareCertificates(database());
    await renew();
    const before = await store.read(names);

    const { isNew } = await renew(61);

    expect(isNew).toBe(true);
    expect((await store.read(names))?.privateKey).not.toBe(before?.privateKey);
    expect(directory.accounts.size).toBe(1);
    expect(await count("certificates")).toBe(1);
  });

  it("leaves no certificate behind that is over, of names that are served no more", async () => {
    const { renew, store } = await prepareCertificates(database());
    const certificate = { chain: "", privateKey: "", issuedMs: 0, expiresMs: 1 };
    await store.write(["former.example.test"], certificate);

    await renew();

    expect(await store.read(["former.example.test"])).toBeUndefined();
  });

  it("keeps what there is when the authority refuses, and says why", async () => {
    const { renew, store, names, directory } = await prepareCertificates(database());
    await renew();
    const before = await store.read(names);
    directory.refuse();

    const refused = renew(61);

    await expect(refused).rejects.toThrow("the proof is not good enough");
    await expect(refused).rejects.toBeInstanceOf(ProblemError);
    expect(await store.read(names)).toEqual(before);
  });

  it("keeps a certificate that comes when nobody waits for it any more", async () => {
    const { renewWithin, store, names, directory } = await prepareCertificates(database());
    const renew = renewWithin(1);

    await expect(renew()).rejects.toThrow("the order took too long");
    await expect(renew()).rejects.toThrow("the order took too long");

    await waitFor(() => store.read(names), { withinMs: 20_000, what: "the late certificate" });
    expect(await renew()).toMatchObject({ isNew: false });
    expect(directory.orders).toHaveLength(1);
  });

  it("leaves no challenge behind, whether it was proven or not", async () => {
    const { renew, directory } = await prepareCertificates(database());
    await renew();
    directory.refuse();
    await renew(61).catch(() => {});

    expect(await count("acme_challenges")).toBe(0);
  });

  it("fails when the authority is away", async () => {
    const { renew, directory } = await prepareCertificates(database());
    directory.fall();

    const failure = await renew().catch((error: Error) => error);

    expect(failure).not.toBeInstanceOf(ProblemError);
    expect(failure).toHaveProperty("message", `no usable answer from ${directory.url}`);
  });

  it("keeps no private key readable, neither the account's nor the certificate's", async () => {
    const { renew, logLines } = await prepareCertificates(database());

    await renew();

    for (const table of ["certificates", "acme_accounts"]) {
      const { rows } = await database().query(`SELECT * FROM ${table}`);
      const texts = Object.values(rows[0]).map(String);
      expect(texts.join("\n")).not.toContain("PRIVATE KEY");
    }
    expect(logLines.join("")).not.toContain("PRIVATE KEY");
  });

  it("makes a new one when the old one's private key does not open any more", async () => {
    const { renew, otherStore, names } = await prepareCertificates(database());
    await renew();
    const other = otherStore();

    const { isNew } = await renew(0, other);

    expect(isNew).toBe(true);
    expect(await other.read(names)).toBeDefined();
  });
});
