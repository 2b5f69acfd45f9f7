/** Signs images as Sigstore's tools do, with authorities and a log of its own. */
import { type KeyObject, sign } from "node:crypto";
import type { Attachment } from "#ci/finding.ts";
import { type Authorities, createAuthorities, createKeys, type Identity } from "./authorities.ts";
import { annotate, type Material } from "./cosign-annotations.ts";
import { createLog, type LogOptions } from "./log.ts";
import { type Body, describeContent, describeEnvelope, sha256 } from "./log-body.ts";

export type SignOptions = Partial<Identity> & {
  /** Signs with this key, and without a certificate. */
  key?: KeyObject;
  /** Signs with this certificate. */
  leaf?: { key: KeyObject; certificate: Buffer };
  log?: LogOptions | "none";
  /** Adds a signed timestamp. */
  isStamped?: boolean;
};

export type Statement = {
  digest: string;
  predicateType?: string;
  predicate?: unknown;
  /** `v0.1` or `v1`. */
  version?: string;
};

export const release: Identity = {
  subject: "https://github.com/acme/gw/.github/workflows/release.yml@refs/heads/main",
  issuer: "https://token.actions.githubusercontent.com",
};

export async function createSigner() {
  // The authorities' own certificates begin when they are made, which is a moment later.
  const now = new Date(Math.ceil(Date.now() / 1000 + 5) * 1000);
  const authorities = await createAuthorities(now);
  const log = createLog(now);
  const parts = { authorities, log };
  const trustedRoot = {
    mediaType: "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
    tlogs: [log.trusted],
    ...authorities.trusted,
  };
  /** A bundle of an envelope with any content. */
  const signEnvelope = async (payload: Buffer, options: EnvelopeOptions = {}) => {
    const { payloadType = "application/vnd.in-toto+json" } = options;
    const signed = Buffer.concat([
      Buffer.from(`DSSEv1 ${payloadType.length} ${payloadType} ${payload.length} `),
      payload,
    ]);
    const { signature, ...material } = await signBytes(signed, parts, {
      options,
      describe: (sig) => describeEnvelope(payload, sig, versionOf(options)),
    });
    const signatures = [{ sig: signature, keyid: "" }];
    const dsseEnvelope = { payload: payload.toString("base64"), payloadType, signatures };
    return { mediaType: bundleType, ...material, dsseEnvelope };
  };
  const signContent = async (content: Buffer, options: SignOptions = {}) => {
    const { signature, ...material } = await signBytes(content, parts, {
      options,
      describe: (sig) => describeContent(content, sig, versionOf(options)),
    });
    const messageDigest = { algorithm: "SHA2_256", digest: sha256(content).toString("base64") };
    return { mediaType: bundleType, ...material, messageSignature: { messageDigest, signature } };
  };
  return {
    now,
    trustedRoot,
    signEnvelope,
    /** A bundle of a signed statement. */
    signStatement: (statement: Statement, options: SignOptions = {}) =>
      signEnvelope(toStatement(statement), options),
    /** A bundle of a signature of an image's manifest. */
    signManifest: signContent,
    /** A layer of cosign's `.sig` tag. */
    signSimpleSigning: async (payload: Buffer, options: SignOptions = {}) => {
      const { messageSignature, verificationMaterial } = await signContent(payload, options);
      const annotations = {
        "dev.cosignproject.cosign/signature": messageSignature.signature,
        ...annotate(verificationMaterial),
      };
      return toLayer("application/vnd.dev.cosign.simplesigning.v1+json", payload, annotations);
    },
    /** A layer of cosign's `.att` tag. */
    signStatementLayer: async (statement: Statement, options: SignOptions = {}) => {
      const { dsseEnvelope, verificationMaterial } = await signEnvelope(
        toStatement(statement),
        options,
      );
      const body = Buffer.from(JSON.stringify(dsseEnvelope));
      const annotations = {
        "dev.cosignproject.cosign/signature": "",
        ...annotate(verificationMaterial),
      };
      return toLayer("application/vnd.dsse.envelope.v1+json", body, annotations);
    },
  };
}

type EnvelopeOptions = SignOptions & { payloadType?: string };

export type CosignLayer = Extract<Attachment, { kind: "cosign" }>;

const bundleType = "application/vnd.dev.sigstore.bundle.v0.3+json";

/** What cosign signs for its `.sig` tag. */
export function simpleSigningOf(digest: string, type = "cosign container image signature"): Buffer {
  const image = { "docker-manifest-digest": digest };
  const identity = { "docker-reference": "" };
  return Buffer.from(JSON.stringify({ critical: { identity, image, type }, optional: null }));
}

/** A bundle, or anything else, as it is attached. */
export function attach(bundle: unknown, name = "sha256:b0b"): Attachment {
  const body = Buffer.isBuffer(bundle) ? bundle : Buffer.from(JSON.stringify(bundle));
  return { kind: "bundle", name, body };
}

function toStatement({ digest, predicateType, predicate = {}, version = "v1" }: Statement): Buffer {
  return Buffer.from(
    JSON.stringify({
      _type: `https://in-toto.io/Statement/${version}`,
      subject: [{ name: "gw", digest: { sha256: digest.replace("sha256:", "") } }],
      predicateType: predicateType ?? "https://sigstore.dev/cosign/sign/v1",
      predicate,
    }),
  );
}

type Parts = { authorities: Authorities; log: ReturnType<typeof createLog> };
function versionOf({ log }: SignOptions): 1 | 2 {
  return log === "none" ? 1 : (log?.version ?? 1);
}

async function signBytes(
  bytes: Buffer,
  { authorities, log }: Parts,
  { options, describe }: { options: SignOptions; describe: (signature: string) => Body },
) {
  const keys = createKeys();
  const key = options.key ?? options.leaf?.key ?? keys.privateKey;
  const signature = sign("sha256", bytes, key);
  const name = { ...release, ...options };
  const certificate =
    options.leaf?.certificate ?? (await authorities.certify(keys.publicKey, name));
  const rawBytes = certificate.toString("base64");
  const signedTimestamp = options.isStamped ? [await authorities.stamp(signature)] : [];
  const body = describe(signature.toString("base64"));
  const verificationMaterial: Material = {
    ...(options.key === undefined ? { certificate: { rawBytes } } : { publicKey: { hint: "k" } }),
    tlogEntries: options.log === "none" ? [] : [log.add(body, options.log)],
    timestampVerificationData: {
      rfc3161Timestamps: signedTimestamp.map((stamp) => ({
        signedTimestamp: stamp.toString("base64"),
      })),
    },
  };
  return { signature: signature.toString("base64"), verificationMaterial };
}

function toLayer(
  mediaType: string,
  body: Buffer,
  annotations: Record<string, string>,
): CosignLayer {
  return { kind: "cosign", name: "sha256-b0b.sig", mediaType, body, annotations };
}
