/** Proves our identity to an API server, and its own to us: a token in a header, certificates of the connection. */
import { type PluginCredential, runPlugin } from "./exec-plugin.ts";
import type { ClusterAccess } from "./kubeconfig.ts";
import type { ExecPlugin } from "./login.ts";
import { checkPair, readNeededFile, readPem } from "./pem.ts";

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
  /**
   * The present one: read again when it may have changed. If that fails the known one is good until it expires or is
   * refused: a file that cannot be read for a moment must not stop deploys, and the API server judges anyway.
   */
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
