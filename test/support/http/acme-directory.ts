/**
 * A certificate authority that speaks ACME (RFC 8555) as the real ones do: it checks nonces and
 * signatures, asks for proof by HTTP-01, and issues real certificates by a root of its own.
 */
import { createHash, createPublicKey, randomBytes, verify, webcrypto } from "node:crypto";
import "reflect-metadata";
import * as x509 from "@peculiar/x509";
import { type FastifyInstance, type FastifyReply, fastify } from "fastify";

export type AcmeOptions = {
  /** Where names are to be found, instead of by DNS and port 80: "http://127.0.0.1:1234". */
  challengesAt: () => string | Promise<string>;
  lifetimeDays?: number;
};

type Jwk = { kty: string; crv: string; x: string; y: string };
type Challenge = { token: string; status: string; error?: object };
type Order = {
  account: string;
  names: string[];
  status: string;
  challenges: Challenge[];
  chain?: string;
};
type Signed = { account: string; jwk: Jwk; payload: Record<string, unknown>; url: string };

export type AcmeDirectory = Awaited<ReturnType<typeof startAcmeDirectory>>;

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const refusal = {
  type: "urn:ietf:params:acme:error:unauthorized",
  detail: "the proof is not good enough",
};
const dayMs = 86_400_000;

export async function startAcmeDirectory({ challengesAt, lifetimeDays = 90 }: AcmeOptions) {
  const root = await createRoot();
  const nonces = new Set<string>();
  const accounts = new Map<string, Jwk>();
  const orders: Order[] = [];
  const state = { isRefusing: false };
  const app = fastify();
  let base = "";

  app.addContentTypeParser("application/jose+json", { parseAs: "string" }, (_, body, done) =>
    done(null, body),
  );
  app.addHook("onSend", async (_, reply) => {
    const nonce = randomBytes(16).toString("base64url");
    nonces.add(nonce);
    reply.header("replay-nonce", nonce);
  });
  app.get("/directory", async () => ({
    newNonce: `${base}/nonce`,
    newAccount: `${base}/account`,
    newOrder: `${base}/order`,
    meta: { termsOfService: `${base}/terms` },
  }));
  app.route({ method: ["GET", "HEAD"], url: "/nonce", handler: async () => "" });

  /** A signed POST: `act` answers the body. */
  const post = (
    path: string,
    act: (signed: Signed, reply: FastifyReply, id: number) => Promise<unknown> | unknown,
  ) =>
    app.post<{ Params: { id?: string } }>(path, async (request, reply) => {
      const signed = open(String(request.body), { nonces, accounts });
      if (signed === "badNonce") return problem(reply, 400, "badNonce");
      if (signed === "malformed" || signed.url !== `${base}${request.url}`) {
        return problem(reply, 400, "malformed");
      }
      return act(signed, reply, Number(request.params.id));
    });

  const show = (order: Order, id: number) => ({
    status: order.status,
    identifiers: order.names.map((value) => ({ type: "dns", value })),
    authorizations: order.names.map((_, n) => `${base}/authorization/${id * 100 + n}`),
    finalize: `${base}/finalize/${id}`,
    ...(order.chain !== undefined && { certificate: `${base}/certificate/${id}` }),
  });
  const showChallenge = ({ token, status, error }: Challenge, place: number) => ({
    type: "http-01",
    url: `${base}/challenge/${place}`,
    token,
    status,
    error,
  });
  const challengeAt = (place: number) =>
    orders[Math.floor(place / 100)]?.challenges[place % 100] as Challenge;

  post("/account", ({ jwk, payload }, reply) => {
    if (payload["termsOfServiceAgreed"] !== true) return problem(reply, 403, "userActionRequired");
    const id = `${base}/account/${thumbprint(jwk)}`;
    const isNew = !accounts.has(id);
    accounts.set(id, jwk);
    return reply
      .code(isNew ? 201 : 200)
      .header("location", id)
      .send({ status: "valid" });
  });
  post("/account/:key", () => ({ status: "valid" }));
  post("/order", ({ account, payload }, reply) => {
    const names = (payload["identifiers"] as { value: string }[]).map(({ value }) => value);
    const challenges = names.map(() => ({
      token: randomBytes(24).toString("base64url"),
      status: "pending",
    }));
    const order: Order = { account, names, status: "pending", challenges };
    const id = orders.push(order) - 1;
    return reply.code(201).header("location", `${base}/order/${id}`).send(show(order, id));
  });
  post("/order/:id", (_, _reply, id) => show(orders[id] as Order, id));
  post("/authorization/:id", (_, _reply, place) => ({
    status: challengeAt(place).status,
    identifier: { type: "dns", value: orders[Math.floor(place / 100)]?.names[place % 100] },
    challenges: [showChallenge(challengeAt(place), place)],
  }));
  post("/challenge/:id", async ({ jwk, payload }, _reply, place) => {
    const challenge = challengeAt(place);
    const order = orders[Math.floor(place / 100)] as Order;
    if (challenge.status !== "pending" || Object.keys(payload).length > 0) {
      return showChallenge(challenge, place);
    }
    const expected = `${challenge.token}.${thumbprint(jwk)}`;
    const address = `${await challengesAt()}/.well-known/acme-challenge/${challenge.token}`;
    const found = await fetch(address).then((answer) => answer.text());
    const isProven = found === expected && !state.isRefusing;
    challenge.status = isProven ? "valid" : "invalid";
    if (!isProven) challenge.error = refusal;
    if (order.challenges.every(({ status }) => status === "valid")) order.status = "ready";
    return showChallenge(challenge, place);
  });
  post("/finalize/:id", async ({ payload }, reply, id) => {
    const order = orders[id] as Order;
    if (order.status !== "ready") return problem(reply, 403, "orderNotReady");
    const csr = new x509.Pkcs10CertificateRequest(Buffer.from(String(payload["csr"]), "base64url"));
    if (!(await csr.verify())) return problem(reply, 400, "badCSR");
    order.chain = await issue(root, { csr, names: order.names, lifetimeDays });
    order.status = "valid";
    return show(order, id);
  });
  post("/certificate/:id", (_, reply, id) =>
    reply.type("application/pem-certificate-chain").send(orders[id]?.chain),
  );

  base = await app.listen({ host: "127.0.0.1", port: 0 });
  return {
    url: `${base}/directory`,
    /** PEM of the root, for who is to trust it. */
    root: root.certificate.toString("pem"),
    orders,
    accounts,
    /** From now on no proof is good enough. */
    refuse: () => {
      state.isRefusing = true;
    },
    /** From now on whoever connects is cut off. The port stays taken: no other server may answer there. */
    fall: () => {
      app.server.prependListener("connection", (socket) => socket.destroy());
      app.server.closeAllConnections();
    },
    stop: () => closeNow(app),
  };
}

async function closeNow(app: FastifyInstance): Promise<void> {
  app.server.closeAllConnections();
  await app.close();
}

function problem(reply: FastifyReply, status: number, type: string) {
  const body = { type: `urn:ietf:params:acme:error:${type}`, detail: type, status };
  return reply.code(status).type("application/problem+json").send(body);
}

type Known = { nonces: Set<string>; accounts: Map<string, Jwk> };

/** "badNonce": it was not given out, or was used. "malformed": the signature is not the account's. */
function open(body: string, { nonces, accounts }: Known): Signed | "badNonce" | "malformed" {
  const jws = JSON.parse(body) as { protected: string; payload: string; signature: string };
  const decode = (text: string) => JSON.parse(Buffer.from(text, "base64url").toString() || "{}");
  const { alg, nonce, url, jwk: given, kid } = decode(jws.protected);
  const jwk: Jwk | undefined = given ?? accounts.get(kid);
  if (!nonces.delete(nonce)) return "badNonce";
  if (jwk === undefined || alg !== "ES256") return "malformed";
  const key = createPublicKey({ key: jwk, format: "jwk" });
  const signed = Buffer.from(`${jws.protected}.${jws.payload}`);
  const signature = Buffer.from(jws.signature, "base64url");
  const isGood = verify("sha256", signed, { key, dsaEncoding: "ieee-p1363" }, signature);
  return isGood ? { account: kid, jwk, payload: decode(jws.payload), url } : "malformed";
}

/** RFC 7638. */
function thumbprint({ crv, kty, x, y }: Jwk): string {
  return createHash("sha256").update(JSON.stringify({ crv, kty, x, y })).digest("base64url");
}

type Root = { certificate: x509.X509Certificate; keys: webcrypto.CryptoKeyPair };

async function createRoot(): Promise<Root> {
  const keys = (await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"])) as never;
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: "CN=Test root",
    keys,
    signingAlgorithm: algorithm,
    notBefore: new Date(Date.now() - dayMs),
    notAfter: new Date(Date.now() + 365 * dayMs),
    extensions: [new x509.BasicConstraintsExtension(true, 1, true)],
  });
  return { certificate, keys };
}

type Request = { csr: x509.Pkcs10CertificateRequest; names: string[]; lifetimeDays: number };

async function issue(root: Root, { csr, names, lifetimeDays }: Request): Promise<string> {
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: randomBytes(8).toString("hex"),
    subject: `CN=${names[0]}`,
    issuer: root.certificate.subject,
    publicKey: csr.publicKey,
    signingKey: root.keys.privateKey,
    signingAlgorithm: algorithm,
    notBefore: new Date(Date.now() - 1_000),
    notAfter: new Date(Date.now() + lifetimeDays * dayMs),
    extensions: [
      new x509.SubjectAlternativeNameExtension(names.map((value) => ({ type: "dns", value }))),
    ],
  });
  return `${certificate.toString("pem")}\n${root.certificate.toString("pem")}\n`;
}
