/** A token service as registries use them: RS256 tokens, signed by a key whose certificate the registry has. */
import { execFileSync } from "node:child_process";
import { randomUUID, sign as signBytes, X509Certificate } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import { tempDir } from "../temp-dir.ts";

export type TokenIssuer = {
  realm: string;
  service: string;
  issuer: string;
  certificateFile: string;
  /** Requests for a token, answered or not. */
  requests: { method: string; scope: string }[];
  sign: (repository: string, actions: string[]) => string;
};

type IssuerOptions = {
  user: string;
  password: string;
  /** Taken in place of the password. */
  refreshToken?: string;
  /** What the answer says; the token itself lives for `tokenSeconds`. */
  expiresInSeconds?: number;
  tokenSeconds?: number;
};

const service = "test-registry";
const issuer = "test-issuer";

/** For the test that asks for it; needs openssl for the certificate. */
export async function startTokenIssuer(options: IssuerOptions): Promise<TokenIssuer> {
  const { keyFile, certificateFile } = createCertificate(tempDir());
  const key = readFileSync(keyFile);
  const certificate = new X509Certificate(readFileSync(certificateFile)).raw.toString("base64");
  const sign = (repository: string, actions: string[]) => {
    const nowSeconds = Math.floor(Date.now() / 1_000);
    const header = { typ: "JWT", alg: "RS256", x5c: [certificate] };
    const claims = {
      iss: issuer,
      sub: options.user,
      aud: service,
      // The registry takes a token for a minute after it has expired.
      exp: nowSeconds + (options.tokenSeconds ?? 300),
      nbf: nowSeconds - 3_600,
      iat: nowSeconds - 3_600,
      jti: randomUUID(),
      access: [{ type: "repository", name: repository, actions }],
    };
    const signed = [header, claims].map((part) => encode(JSON.stringify(part))).join(".");
    return `${signed}.${encode(signBytes("RSA-SHA256", Buffer.from(signed), key))}`;
  };

  const requests: TokenIssuer["requests"] = [];
  const server = createServer(async (incoming, outgoing) => {
    const { scope, isKnown } = await readRequest(incoming, options);
    requests.push({ method: incoming.method ?? "", scope });
    if (!isKnown) {
      outgoing.writeHead(401).end();
      return;
    }
    const token = sign(scope.split(":")[1] ?? "", ["pull"]);
    outgoing
      .writeHead(200, { "content-type": "application/json" })
      .end(JSON.stringify({ token, expires_in: options.expiresInSeconds ?? 300 }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  const realm = `http://127.0.0.1:${port}/token`;
  return { realm, service, issuer, certificateFile, requests, sign };
}

function createCertificate(dir: string) {
  const keyFile = path.join(dir, "key.pem");
  const certificateFile = path.join(dir, "certificate.pem");
  const request = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"];
  const files = ["-keyout", keyFile, "-out", certificateFile];
  execFileSync("openssl", [...request, "-subj", "/CN=test", ...files], { stdio: "ignore" });
  return { keyFile, certificateFile };
}

async function readRequest(incoming: IncomingMessage, options: IssuerOptions) {
  if (incoming.method === "POST") {
    const form = new URLSearchParams(await text(incoming));
    const isRefresh = form.get("grant_type") === "refresh_token" && form.get("service") === service;
    const isKnown = isRefresh && form.get("refresh_token") === options.refreshToken;
    return { scope: form.get("scope") ?? "", isKnown };
  }
  const { searchParams } = new URL(incoming.url ?? "/", "http://issuer");
  const pair = Buffer.from(`${options.user}:${options.password}`).toString("base64");
  const isKnown =
    incoming.headers.authorization === `Basic ${pair}` && searchParams.get("service") === service;
  return { scope: searchParams.get("scope") ?? "", isKnown };
}

function encode(bytes: string | Buffer): string {
  return Buffer.from(bytes).toString("base64url");
}
