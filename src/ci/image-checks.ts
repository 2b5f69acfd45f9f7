/** The checks of one image: what each kind reads, and who judges it. */
import { cleanText } from "#kernel/clean-text.ts";
import type { CommitApi } from "./commit/api.ts";
import { checkCommit } from "./commit/check.ts";
import type { CiConfig } from "./config.ts";
import type { CiKind } from "./contract.ts";
import type { Attachment, Finding, Subject } from "./finding.ts";
import { CiTrouble } from "./trouble.ts";

/** Reads from the image's registry. They throw a `ProblemError`. */
export type ImageSources = {
  readLabels: (image: string, signal: AbortSignal) => Promise<ReadonlyMap<string, string>>;
  readAttachments: (image: string, signal: AbortSignal) => Promise<ImageAttachments>;
  commits: CommitApi;
  signatures: CheckSignatures;
};

/** `omitted`: how many were too large, too many or gone. `troubles`: why others could not be read now. */
type ImageAttachments = {
  manifest: Buffer;
  attachments: Attachment[];
  omitted: number;
  troubles: string[];
};

type Grade = (subject: Subject, attachments: readonly Attachment[]) => Promise<Finding>;
type CheckSignatures = { checkSignature: Grade; checkProvenance: Grade };

export type ImageChecks = Record<CiKind, () => Promise<Finding>>;

/** Creates the checks of one image, pinned to its digest. They share what they read; `signal` aborts the reading. */
export function createImageChecks(settings: CiConfig, sources: ImageSources) {
  return (image: string, signal: AbortSignal): ImageChecks => {
    const labels = once(() => sources.readLabels(image, signal));
    const attached = once(() => sources.readAttachments(image, signal));
    const digest = image.slice(image.indexOf("@") + 1);
    const gradeAttachments = async (grade: Grade) => {
      const { manifest, attachments, omitted, troubles } = await attached();
      const finding = await grade({ digest, manifest }, attachments);
      // The missing evidence may be among that which could not be read.
      if (finding.result === "passed") return finding;
      if (troubles.length > 0) throw new CiTrouble(troubles.join("; "));
      return omitted === 0 ? finding : notLookedAt(finding, omitted);
    };
    return {
      commit: async () => checkCommit(await labels(), settings.commit, sources.commits),
      label: async () => gradeLabels(await labels(), settings.labels),
      signature: () => gradeAttachments(sources.signatures.checkSignature),
      provenance: () => gradeAttachments(sources.signatures.checkProvenance),
    };
  };
}

function notLookedAt({ detail }: Finding, omitted: number): Finding {
  const counted = `${omitted} attached are too many, too large or gone, and were not looked at`;
  return { result: "unverifiable", detail: `${detail}; ${counted}` };
}

function once<Value>(read: () => Promise<Value>): () => Promise<Value> {
  let reading: Promise<Value> | undefined;
  return () => {
    reading ??= read();
    return reading;
  };
}

export function gradeLabels(
  labels: ReadonlyMap<string, string>,
  wanted: Readonly<Record<string, string>>,
): Finding {
  const names = Object.keys(wanted);
  const other = names.filter((name) => labels.has(name) && labels.get(name) !== wanted[name]);
  if (other.length > 0) {
    const found = other.map((name) => `${name}=${cleanText(labels.get(name) ?? "", 60)}`);
    return { result: "failed", detail: `the image has ${found.join(", ")}` };
  }
  const absent = names.filter((name) => !labels.has(name));
  if (absent.length > 0) {
    return { result: "missing", detail: `the image has no label ${absent.join(", ")}` };
  }
  return { result: "passed", detail: `the image has ${names.join(", ")}` };
}
