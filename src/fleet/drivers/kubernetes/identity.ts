/** Proves our identity to an API server, and its own to us: a token in a header, certificates of the connection. */
import { z } from "zod";
import { parseJson } from "#kernel/body.ts";
import { cleanWords } from "#kernel/log.ts";
import { environmentOfTools, type ProgramEnd, runProgram } from "#kernel/process.ts";
import type { ClusterAccess } from "./kubeconfig.ts";
import type { ExecPlugin } from "./login.ts";
import { checkPair, isPem, readNeededFile, readPem } from "./pem.ts";

// Credentials from a program of the cloud (https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins).

const maxOutputBytes = 1_048_576;

const ExecCredential = z.object({
  apiVersion: z.string(),
  kind: z.literal("ExecCredential"),
  status: z.object({
    token: z.string().nullish(),
    clientCertificateData: z.string().nullish(),
    clientKeyData: z.string().nullish(),
    expirationTimestamp: z.iso.datetime({ offset: true }).nullish(),
  }),
});

/** A token, or a certificate with its key, or both. `expiresAtMs` undefined: it is good until the API server refuses it. */
export type PluginCredential = {
  token: string | undefined;
  cert: string | undefined;
  key: string | undefined;
  expiresAtMs: number | undefined;
};

/** Runs for `limitMs`, with what clouds' programs need. Throws its last line on stderr, without secrets or output. */
export async function runPlugin(
  plugin: ExecPlugin,
  { limitMs = 30_000, environment = process.env } = {},
): Promise<PluginCredential> {
  const { command, args, apiVersion } = plugin;
  const env = {
    ...environmentOfTools(environment),
    ...plugin.env,
    KUBERNETES_EXEC_INFO: JSON.stringify(infoOf(plugin)),
  };
  const end = await runProgram({ command, args, env }, { limitMs, maxBytes: maxOutputBytes });
  if (end.kind !== "ended" || end.code !== 0) {
    throw new Error(`${command} ${describe(end, limitMs)}${quoteLast(end, env)}`);
  }
  try {
    return readCredential(end.output, apiVersion);
  } catch (error) {
    throw new Error(`${command} printed ${(error as Error).message}`);
  }
}

function infoOf({ apiVersion, cluster }: ExecPlugin) {
  const told = cluster && {
    server: cluster.server,
    "tls-server-name": cluster.servername,
    "insecure-skip-tls-verify": cluster.isInsecure || undefined,
    "certificate-authority-data": readPem(cluster.ca)?.toString("base64"),
    "proxy-url": cluster.proxyUrl,
    config: cluster.config,
  };
  return { apiVersion, kind: "ExecCredential", spec: { interactive: false, cluster: told } };
}

function describe(end: ProgramEnd, limitMs: number): string {
  switch (end.kind) {
    case "unstarted":
      return end.code === "ENOENT"
        ? "is not there: install it where Vedette runs, in a folder of PATH"
        : `cannot be started (${end.code})`;
    case "late":
      return `did not end within ${limitMs / 1_000} s`;
    case "large":
      return `printed more than ${maxOutputBytes / 1_048_576} MiB`;
    case "ended":
      return end.code === null ? `was ended by ${end.signal}` : `ended with ${end.code}`;
  }
}

/** A name such as `AWS_WEB_IDENTITY_TOKEN_FILE` has no secret. */
const secretName = /(?:SECRET|TOKEN|PASSWORD|PASSWD|KEY|CREDENTIAL)(?!.*_(?:FILE|PATH|URI)$)/i;
/** Whatever is long enough, beside the usual forms of secrets. */
const secretForms = [
  /[\w+=~-]{40,}(?:[./][\w+=~-]+)*/g,
  /(?<![\w+/])(?=\S*[A-Z])(?=\S*\d)[\w+/=]{40,}/g,
];

function quoteLast(end: ProgramEnd, env: NodeJS.ProcessEnv): string {
  const last = "words" in end ? (end.words.trim().split("\n").at(-1) ?? "") : "";
  const secrets = Object.entries(env).flatMap(([name, value = ""]) =>
    secretName.test(name) && value.length >= 6 ? [value] : [],
  );
  const bare = secrets.reduce((words, secret) => words.replaceAll(secret, "***"), last);
  const safe = secretForms.reduce((words, form) => words.replaceAll(form, "***"), bare);
  return safe === "" ? "" : `: ${cleanWords(safe, 200).trim()}`;
}

function readCredential(output: string, apiVersion: string): PluginCredential {
  const result = ExecCredential.safeParse(parseJson(Buffer.from(output)));
  if (!result.success) throw new Error("no ExecCredential");
  if (result.data.apiVersion !== apiVersion) {
    throw new Error(`an ExecCredential of another apiVersion than ${apiVersion}: update it`);
  }
  const { token, clientCertificateData, clientKeyData, expirationTimestamp } = result.data.status;
  const cert = readPart(clientCertificateData, "certificate");
  const key = readPart(clientKeyData, "key");
  if ((cert === undefined) !== (key === undefined)) {
    throw new Error("a certificate without its key, or a key alone");
  }
  if (!token && cert === undefined) throw new Error("neither a token nor a certificate");
  const expiresAtMs = expirationTimestamp ? Date.parse(expirationTimestamp) : undefined;
  return { token: token || undefined, cert, key, expiresAtMs };
}

function readPart(text: string | null | undefined, what: string): string | undefined {
  if (!text) return undefined;
  if (!isPem(text)) throw new Error(`a ${what} that is no PEM`);
  return text;
}

/** `authorization` undefined: the certificate is enough. */
export type Identity = {
  authorization: string | undefined;
  /** The certificates of the API server's authority. */
  ca: Buffer | undefined;
  cert: Buffer | undefined;
  key: Buffer | undefined;
};

/** Tokens of pods are replaced every hour or so; the file has the next one well before. */
const rereadMs = 60_000;
/** A plugin's credential is replaced this long before it expires, or at half of a shorter time. */
const marginMs = 60_000;
/** Calls that run beside each other share a failure, and do not all ask again at once. */
const failurePauseMs = 1_000;
/** Refusals of calls that left before a plugin's present credential was there say nothing about it. */
const refusalPauseMs = 5_000;

export type Identities = {
  /** Read again when it may have changed; on a failure the known one is good until it expires or is refused. */
  current: () => Promise<Identity>;
  /** The API server has refused it: the next one is read anew. */
  refuse: () => void;
};

export type IdentityTools = {
  run?: (plugin: ExecPlugin) => Promise<PluginCredential>;
  /** The time of day, for what expires. */
  nowMs?: () => number;
  /** Never goes back, for pauses. */
  clockMs?: () => number;
};

type Entry = {
  identity: Promise<Identity>;
  /** By the clock. */
  untilMs: number;
  /** By the clock; undefined while it is read. */
  readAtMs: number | undefined;
  /** The next one could not be read. */
  isStale: boolean;
};

export function createIdentities(
  access: ClusterAccess,
  { run = runPlugin, nowMs = Date.now, clockMs = () => performance.now() }: IdentityTools = {},
): Identities {
  let entry: Entry | undefined;
  let good: { identity: Identity; untilMs: number } | undefined;

  const read = async (made: Omit<Entry, "identity">): Promise<Identity> => {
    try {
      const { identity, freshMs, goodMs } = await readIdentity(access, { run, nowMs });
      good = { identity, untilMs: clockMs() + goodMs };
      made.untilMs = clockMs() + freshMs;
      return identity;
    } catch (error) {
      made.untilMs = clockMs() + failurePauseMs;
      if (good === undefined || clockMs() >= good.untilMs) throw error;
      made.isStale = true;
      return good.identity;
    } finally {
      made.readAtMs = clockMs();
    }
  };

  const start = (): Entry => {
    const made = { untilMs: Number.POSITIVE_INFINITY, readAtMs: undefined, isStale: false };
    return Object.assign(made, { identity: read(made) });
  };

  return {
    current: () => {
      // While it is read all wait for the same.
      if (entry === undefined || clockMs() >= entry.untilMs) entry = start();
      return entry.identity;
    },
    refuse: () => {
      if (entry?.readAtMs === undefined) return;
      const isNew = access.login.kind === "exec" && clockMs() < entry.readAtMs + refusalPauseMs;
      if (isNew && !entry.isStale) return;
      good = undefined;
      entry = undefined;
    },
  };
}

/** `freshMs`: when to read it again. `goodMs`: how long it can be used if that fails. */
type IdentityTerm = { identity: Identity; freshMs: number; goodMs: number };

async function readIdentity(
  { login, ca, cert, key }: ClusterAccess,
  { run, nowMs }: Required<Pick<IdentityTools, "run" | "nowMs">>,
): Promise<IdentityTerm> {
  const readOwn = (authorization?: string): IdentityTerm => ({
    identity: withPair({ authorization, ca: readPem(ca), cert: readPem(cert), key: readPem(key) }),
    freshMs: rereadMs,
    goodMs: Number.POSITIVE_INFINITY,
  });
  switch (login.kind) {
    case "none":
      return readOwn();
    case "token":
      return readOwn(bearer(login.token, "the token of the kubeconfig"));
    case "token-file":
      return readOwn(bearer(readNeededFile(login.file).toString(), login.file));
    case "password": {
      const pair = Buffer.from(`${login.username}:${login.password}`).toString("base64");
      return readOwn(`Basic ${pair}`);
    }
    case "exec": {
      const got = await run(login.plugin);
      const identity = withPair({
        authorization: got.token && bearer(got.token, `the token of ${login.plugin.command}`),
        ca: readPem(ca),
        cert: got.cert === undefined ? readPem(cert) : Buffer.from(got.cert),
        key: got.key === undefined ? readPem(key) : Buffer.from(got.key),
      });
      return { identity, ...lifetimeOf(got, nowMs()) };
    }
  }
}

/** One that has expired by our clock is used once: the API server's clock counts. */
function lifetimeOf({ expiresAtMs }: PluginCredential, nowMs: number) {
  const leftMs = (expiresAtMs ?? Number.POSITIVE_INFINITY) - nowMs;
  const freshMs = Math.max(failurePauseMs, leftMs - marginMs, Math.min(marginMs, leftMs / 2));
  return { freshMs, goodMs: leftMs };
}

function withPair(identity: Identity): Identity {
  checkPair(identity.cert, identity.key);
  return identity;
}

/** An empty or torn file is no token. */
function bearer(text: string, where: string): string {
  const token = text.trim();
  if (token === "") throw new Error(`${where} is empty`);
  if (!/^[\x21-\x7e]+$/.test(token)) {
    throw new Error(`${where} has characters that no token has`);
  }
  return `Bearer ${token}`;
}
