/** The checks of one image: what each kind reads, and who judges it. */
import type { CommitApi } from "./commit/api.ts";
import { checkCommit } from "./commit/check.ts";
import type { CiConfig } from "./config.ts";
import type { CiKind } from "./contract.ts";
import type { Attachment, Finding, Subject } from "./finding.ts";
import { judgeLabels } from "./label.ts";
import { CiTrouble } from "./trouble.ts";

/** What is read from the image's registry. They throw a `ProblemError`. */
export type ImageSources = {
  readLabels: (image: string) => Promise<ReadonlyMap<string, string>>;
  /** `troubles`: why some attachments could not be read. */
  readAttachments: (
    image: string,
  ) => Promise<{ manifest: Buffer; attachments: Attachment[]; troubles: string[] }>;
  commits: CommitApi;
  signatures: CheckSignatures;
};

type Judge = (subject: Subject, attachments: readonly Attachment[]) => Promise<Finding>;
type CheckSignatures = { checkSignature: Judge; checkProvenance: Judge };

export type ImageChecks = Record<CiKind, () => Promise<Finding>>;

/** Of one image that is pinned to its digest. What several kinds need is read once. */
export function createImageChecks(settings: CiConfig, sources: ImageSources) {
  return (image: string): ImageChecks => {
    const labels = once(() => sources.readLabels(image));
    const attached = once(() => sources.readAttachments(image));
    const digest = image.slice(image.indexOf("@") + 1);
    const judgeAttached = async (judge: Judge) => {
      const { manifest, attachments, troubles } = await attached();
      const finding = await judge({ digest, manifest }, attachments);
      // What could not be read may be what is missing.
      if (finding.result === "passed" || troubles.length === 0) return finding;
      throw new CiTrouble(troubles.join("; "));
    };
    return {
      commit: async () => checkCommit(await labels(), settings.commit, sources.commits),
      label: async () => judgeLabels(await labels(), settings.labels),
      signature: () => judgeAttached(sources.signatures.checkSignature),
      provenance: () => judgeAttached(sources.signatures.checkProvenance),
    };
  };
}

function once<Value>(read: () => Promise<Value>): () => Promise<Value> {
  let reading: Promise<Value> | undefined;
  return () => {
    reading ??= read();
    return reading;
  };
}
