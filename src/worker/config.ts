import { z } from "zod";
import { flag, optionalUrl, port } from "#kernel/setting.ts";

/** Stands for the revision in `worker.advertised_url`, so that each version can have an address of its own. */
export const revisionMark = "{revision}";

/** Stands for any revision while the address is checked: a host may have no braces. */
const anyRevision = "any-revision-of-the-code";

const advertisedUrl = z.preprocess(
  (url) => (typeof url === "string" ? url.replaceAll(revisionMark, anyRevision) : url),
  optionalUrl().transform((url) => url.replaceAll(anyRevision, revisionMark)),
);

export const workerConfig = {
  worker: z
    .strictObject({
      host: z.string().min(1).default("127.0.0.1").describe("Where Restate calls the handlers"),
      port: port(9480).describe("Its port"),
      advertised_url: advertisedUrl.describe(
        "How Restate reaches the worker; `{revision}`: the hash of the code ([why](operations.md#several-workers)); empty: `http://host:port`",
      ),
      register: z
        .enum(["start", "never"])
        .default("start")
        .describe("`never`: the start waits until a deploy step has registered it"),
      allow_unsigned: flag().default(false).describe("Accept unsigned calls at any `worker.host`"),
    })
    .prefault({}),
};
