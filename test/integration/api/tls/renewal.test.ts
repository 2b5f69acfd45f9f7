import { createPrivateKey, X509Certificate } from "node:crypto";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
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

describe("the renewal of certificates by an authority that plays for time", () => {
  /** `asked`: how many requests it got. */
  async function startAuthority(answer: RequestListener) {
    let asked = 0;
    const server = createServer((request, response) => {
      asked += 1;
      answer(request, response);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => {
      server.close();
      server.closeAllConnections();
    });
    const { port } = server.address() as AddressInfo;
    return { url: `http://127.0.0.1:${port}/directory`, asked: () => asked };
  }

  it("fails at once when it is told to wait for days, and orders anew the next time", async () => {
    const { renewAt } = await prepareCertificates(database());
    const authority = await startAuthority((_, response) =>
      response.writeHead(503, { "retry-after": "200000" }).end(),
    );
    const renew = renewAt(authority.url, { orderTimeoutMs: 20_000 });

    for (const _ of [1, 2]) await expect(renew()).rejects.not.toThrow("the order took too long");

    expect(authority.asked()).toBe(2);
  });

  it.each<[string, RequestListener]>([
    [
      "an answer that comes byte after byte",
      (_, response) => {
        response.writeHead(200, { "content-type": "application/json" });
        const timer = setInterval(() => response.write(" "), 20);
        response.once("close", () => clearInterval(timer));
      },
    ],
    ["no answer", () => {}],
    [
      "slow redirects",
      (_, response) =>
        void setTimeout(() => response.writeHead(302, { location: "/directory" }).end(), 300),
    ],
  ])("gives %s up, and orders anew the next time", async (_, answer) => {
    const { renewAt } = await prepareCertificates(database());
    const authority = await startAuthority(answer);
    const renew = renewAt(authority.url, { orderTimeoutMs: 100, orderAtMostMs: 500 });
    const ordersAnew = async () => {
      const before = authority.asked();
      await renew().catch(() => {});
      return authority.asked() > before;
    };

    await expect(renew()).rejects.toThrow("the order took too long");
    await waitFor(ordersAnew, { withinMs: 5_000, what: "another order" });
  });
});
