/** A transparency log with one other entry in it, as Rekor of version 1 and 2 answer. */
import { createHash, generateKeyPairSync, sign } from "node:crypto";

export type LogOptions = {
  /** 1: a promise with its time, and a proof. 2: a proof alone. */
  version?: 1 | 2;
  /** The time of the entry. */
  at?: Date;
};

export type LogEntry = ReturnType<ReturnType<typeof createLog>["add"]>;

const host = "log.test";

/** `now` is the time of entries without one. */
export function createLog(now: Date) {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const rawBytes = publicKey.export({ format: "der", type: "spki" });
  const logId = hash(rawBytes);
  const signNote = (text: string) => sign("sha256", Buffer.from(text), privateKey);
  const add = (body: { kind: string; apiVersion: string }, options: LogOptions = {}) => {
    const bytes = Buffer.from(JSON.stringify(body));
    const { version = 1, at = now } = options;
    const time = Math.floor(at.getTime() / 1000);
    const payload = promisedText({ body: bytes, integratedTime: time, logId });
    const promise = { signedEntryTimestamp: signNote(payload).toString("base64") };
    return {
      logIndex: "1",
      logId: { keyId: logId.toString("base64") },
      kindVersion: { kind: body.kind, version: body.apiVersion },
      integratedTime: version === 1 ? `${time}` : "0",
      ...(version === 1 ? { inclusionPromise: promise } : {}),
      inclusionProof: prove(bytes, { signNote, logId }),
      canonicalizedBody: bytes.toString("base64"),
    };
  };
  const trusted = {
    baseUrl: `https://${host}`,
    hashAlgorithm: "SHA2_256",
    publicKey: {
      rawBytes: rawBytes.toString("base64"),
      keyDetails: "PKIX_ECDSA_P256_SHA_256",
      validFor: { start: new Date(0).toISOString() },
    },
    logId: { keyId: logId.toString("base64") },
  };
  return { add, trusted };
}

type Promised = { body: Buffer; integratedTime: number; logId: Buffer };

/** The names are in alphabetical order, as they are signed. */
function promisedText({ body, integratedTime, logId }: Promised): string {
  const logID = logId.toString("hex");
  return JSON.stringify({ body: body.toString("base64"), integratedTime, logID, logIndex: 1 });
}

type Prover = { signNote: (text: string) => Buffer; logId: Buffer };

/** The entry is the second of two (RFC 6962, section 2.1.1). */
function prove(body: Buffer, { signNote, logId }: Prover) {
  const sibling = hash(Buffer.from("another entry"));
  const root = hash(Buffer.from([1]), sibling, hash(Buffer.from([0]), body)).toString("base64");
  const note = `${host}\n2\n${root}\n`;
  const signature = Buffer.concat([logId.subarray(0, 4), signNote(note)]).toString("base64");
  return {
    logIndex: "1",
    treeSize: "2",
    rootHash: root,
    hashes: [sibling.toString("base64")],
    checkpoint: { envelope: `${note}\n\u2014 ${host} ${signature}\n` },
  };
}

function hash(...parts: Buffer[]): Buffer {
  return createHash("sha256").update(Buffer.concat(parts)).digest();
}
