/** The days left of a chain of certificates, against real TLS servers. */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createServer } from "node:tls";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { probeTls } from "#monitor/kinds/tls.ts";
import { createProbe } from "#monitor/probe/probe.ts";
import { grade } from "#monitor/rules/grade.ts";
import { type Issued, issue, privateKeyOf } from "../../../support/http/certificate-chain.ts";
import { anApiCheck } from "../../../support/monitor/check-builders.ts";

const names = [
  "root",
  "endingRoot",
  "otherRoot",
  "crossSigned",
  "issuer",
  "longIssuer",
  "issuerOfIssuer",
  "lower",
  "stranger",
  "leaf",
  "lowerLeaf",
  "shortLeaf",
  "expired",
  "leafOfExpired",
] as const;

let certificates: Record<(typeof names)[number], Issued>;

beforeAll(async () => {
  const root = await issue({ name: "Root", days: 1_000 });
  const otherRoot = await issue({ name: "Other Root", days: 1_000 });
  const issuer = await issue({ name: "Issuer", days: 3, issuer: root });
  const issuerOfIssuer = await issue({ name: "Upper", days: 2, issuer: root });
  const lower = await issue({ name: "Lower", days: 50, issuer: issuerOfIssuer });
  const expired = await issue({ name: "Expired", days: -2, issuer: root });
  const server = { name: "localhost", isServer: true };
  certificates = {
    root,
    endingRoot: await issue({ name: "Root", days: 1, keys: root.keys }),
    otherRoot,
    crossSigned: await issue({ name: "Root", days: 1, keys: root.keys, issuer: otherRoot }),
    issuer,
    longIssuer: await issue({ name: "Issuer", days: 300, keys: issuer.keys, issuer: root }),
    issuerOfIssuer,
    lower,
    stranger: await issue({ name: "Stranger", days: 1 }),
    leaf: await issue({ ...server, days: 79, issuer }),
    lowerLeaf: await issue({ ...server, days: 79, issuer: lower }),
    shortLeaf: await issue({ ...server, days: 1, issuer }),
    expired,
    leafOfExpired: await issue({ ...server, days: 79, issuer: expired }),
  };
});

type Name = (typeof names)[number];

async function serve(
  chain: readonly Name[],
): Promise<{ host: string; port: number; servername: string }> {
  const [first = "leaf"] = chain;
  const server = createServer({
    key: await privateKeyOf(certificates[first]),
    cert: chain.map((name) => certificates[name].pem).join("\n"),
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return { host: "localhost", port, servername: "localhost" };
}

const probe = async (chain: readonly Name[], trusted: readonly Name[] = ["root"]) =>
  probeTls(await serve(chain), {
    timeoutMs: 20_000,
    ca: trusted.map((name) => certificates[name].pem).join("\n"),
  });

const trusted = { kind: "certificate" };

describe("the days left", () => {
  it.each<[string, Name[], Name[], number, string | null]>([
    ["the issuer, when that ends first", ["leaf", "issuer"], ["root"], 3, "Issuer"],
    ["the server, when that ends first", ["shortLeaf", "issuer"], ["root"], 1, null],
    ["an issuer of the issuer", ["lowerLeaf", "lower", "issuerOfIssuer"], ["root"], 2, "Upper"],
    ["an issuer in whatever place", ["lowerLeaf", "issuerOfIssuer", "lower"], ["root"], 2, "Upper"],
    [
      "an issuer, not of a root sent along",
      ["leaf", "issuer", "endingRoot"],
      ["root"],
      3,
      "Issuer",
    ],
    ["an issuer, not of a stranger", ["leaf", "stranger", "issuer"], ["root"], 3, "Issuer"],
    ["an issuer that is sent twice", ["leaf", "issuer", "issuer"], ["root"], 3, "Issuer"],
    ["the issuer that lasts longer, of two", ["leaf", "longIssuer", "issuer"], ["root"], 79, null],
    [
      "an issuer, not of a root's other certificate",
      ["leaf", "issuer", "crossSigned"],
      ["root"],
      3,
      "Issuer",
    ],
    [
      "a root's other certificate, if it is needed",
      ["leaf", "issuer", "crossSigned"],
      ["otherRoot"],
      1,
      "Root",
    ],
  ])("are those of %s", async (_, chain, roots, tlsDaysLeft, tlsIssuer) => {
    expect(await probe(chain, roots)).toMatchObject({ outcome: trusted, tlsDaysLeft, tlsIssuer });
  });

  it("are those of the server where its issuer is not sent", async () => {
    const seen = await probe(["leaf"]);

    expect(seen).toMatchObject({ outcome: { kind: "error" }, tlsDaysLeft: 79 });
  });

  it("are those of a chain that is not trusted, too", async () => {
    const seen = await probe(["leaf", "issuer", "root"], ["otherRoot"]);

    expect(seen).toMatchObject({ outcome: { kind: "error" }, tlsDaysLeft: 3 });
  });

  it("of an issuer whose certificate has expired are told, and its name", async () => {
    expect(await probe(["leafOfExpired", "expired"])).toMatchObject({
      outcome: {
        reason:
          "the certificate is not trusted: that of its issuer Expired has expired (CERT_HAS_EXPIRED)",
      },
      tlsDaysLeft: -2,
    });
  });

  it("are those of the issuer in a check of HTTP too", async () => {
    const { port } = await serve(["leaf", "issuer"]);
    const request = {
      method: "GET",
      url: `https://localhost:${port}/`,
      headers: {},
      body: null,
    } as const;
    const limits = { timeoutMs: 1_000, maxBodyBytes: 1_000 };

    const seen = await createProbe({ ca: certificates.root.pem })(request, limits);

    expect(seen.tlsDaysLeft).toBe(3);
  });
});

it("a check that fails for an issuer's certificate names the issuer", async () => {
  const seen = await probe(["leaf", "issuer"]);
  const { method, path, headers, body, assertions, ...common } = anApiCheck({
    degradedAboveMs: 60_000,
    failedAboveMs: 60_000,
  });
  const days = { degradedBelowDays: 30, failedBelowDays: 7 };
  const at = { host: "localhost", port: 443, servername: "localhost" };

  expect(grade({ ...common, kind: "tls", ...at, ...days }, seen)).toEqual({
    grade: "failed",
    cause: "assertion",
    reason: "the certificate of the issuer Issuer ends in 3 days, failed below 7",
  });
});
