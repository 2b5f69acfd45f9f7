/** What is entered into a log about a signature, in the words of Rekor's versions 1 and 2. */
import { createHash } from "node:crypto";

export type Body = { kind: string; apiVersion: string; spec: object };

export function describeEnvelope(payload: Buffer, signature: string, version: 1 | 2): Body {
  if (version === 1) {
    const payloadHash = { algorithm: "sha256", value: sha256(payload).toString("hex") };
    return {
      kind: "dsse",
      apiVersion: "0.0.1",
      spec: { signatures: [{ signature }], payloadHash },
    };
  }
  const payloadHash = { algorithm: "SHA2_256", digest: sha256(payload).toString("base64") };
  const spec = { dsseV002: { payloadHash, signatures: [{ content: signature }] } };
  return { kind: "dsse", apiVersion: "0.0.2", spec };
}

export function describeContent(content: Buffer, signature: string, version: 1 | 2): Body {
  if (version === 1) {
    const data = { hash: { algorithm: "sha256", value: sha256(content).toString("hex") } };
    const spec = { signature: { content: signature }, data };
    return { kind: "hashedrekord", apiVersion: "0.0.1", spec };
  }
  const data = { algorithm: "SHA2_256", digest: sha256(content).toString("base64") };
  const spec = { hashedRekordV002: { data, signature: { content: signature } } };
  return { kind: "hashedrekord", apiVersion: "0.0.2", spec };
}

export function sha256(bytes: Buffer): Buffer {
  return createHash("sha256").update(bytes).digest();
}
