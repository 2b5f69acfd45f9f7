/** Who we are at an API server: a token in a header, or a certificate of the connection. */
import { readFileSync } from "node:fs";
import { type PluginCredential, runPlugin } from "./exec-plugin.ts";
import type { ClusterAccess, Pem } from "./kubeconfig.ts";

/** `authorization` undefined: the certificate is enough. */
export type Identity = {
  authorization: string | undefined;
  cert: Buffer | undefined;
  key: Buffer | undefined;
};

/** Tokens of pods are replaced every hour or so; the file has the next one well before. */
const rereadMs = 60_000;
/** A plugin's credential is replaced this long before it expires. */
const marginMs = 60_000;

export type Identities = {
  /** The present one: read again when it may have changed. */
  current: () => Promise<Identity>;
  /** The API server has refused it: the next one is read anew. */
  refuse: () => void;
};

export function createIdentities(
  { login, cert, key }: ClusterAccess,
  { run = runPlugin, nowMs = Date.now } = {},
): Identities {
  let known: { identity: Promise<Identity>; untilMs: number } | undefined;
  const own = () => ({ cert: readPem(cert), key: readPem(key) });

  const read = async (): Promise<{ identity: Identity; untilMs: number }> => {
    const forMs = (ms: number) => nowMs() + ms;
    switch (login.kind) {
      case "none":
        return { identity: { ...own(), authorization: undefined }, untilMs: forMs(rereadMs) };
      case "token":
        return identityOf(`Bearer ${login.token}`, own(), forMs(rereadMs));
      case "token-file":
        return identityOf(`Bearer ${readText(login.file)}`, own(), forMs(rereadMs));
      case "password": {
        const pair = Buffer.from(`${login.username}:${login.password}`).toString("base64");
        return identityOf(`Basic ${pair}`, own(), forMs(rereadMs));
      }
      case "exec": {
        const { expiresAtMs = Number.POSITIVE_INFINITY, ...got } = await run(login.plugin);
        return { identity: identityOfPlugin(got, own()), untilMs: expiresAtMs - marginMs };
      }
    }
  };

  return {
    current: () => {
      if (known === undefined || nowMs() >= known.untilMs) {
        const reading = read();
        // Until it is read nobody else reads it, too.
        const entry = { identity: reading.then(({ identity }) => identity), untilMs: Infinity };
        known = entry;
        reading.then(
          ({ untilMs }) => {
            entry.untilMs = untilMs;
          },
          () => {
            if (known === entry) known = undefined;
          },
        );
      }
      return known.identity;
    },
    refuse: () => {
      known = undefined;
    },
  };
}

type Certificate = Pick<Identity, "cert" | "key">;

function identityOf(authorization: string, own: Certificate, untilMs: number) {
  return { identity: { ...own, authorization }, untilMs };
}

function identityOfPlugin(
  { token, cert, key }: Omit<PluginCredential, "expiresAtMs">,
  own: Certificate,
): Identity {
  return {
    authorization: token === undefined ? undefined : `Bearer ${token}`,
    cert: cert === undefined ? own.cert : Buffer.from(cert),
    key: key === undefined ? own.key : Buffer.from(key),
  };
}

function readText(file: string): string {
  return readFileSync(file, "utf8").trim();
}

export function readPem(pem: Pem | undefined): Buffer | undefined {
  if (pem === undefined) return undefined;
  return "data" in pem ? pem.data : readFileSync(pem.file);
}
