import { z } from "zod";
import {
  flag,
  networkList,
  optionalUrl,
  port,
  secretList,
  secretText,
  wholeNumber,
} from "#kernel/setting.ts";

export const apiConfig = {
  api: z
    .strictObject({
      host: z.string().min(1).default("127.0.0.1").describe("Where the public API listens"),
      port: port(7070).describe("Its port"),
      threads: wholeNumber({ min: 0, max: 64, default: 0 }).describe(
        "Threads that serve it; 0: by processors and memory (macOS, Windows: 1)",
      ),
      root_key: secretText().describe(
        "The first root key, of `ws_default`; empty: generated, in `<data_dir>/credentials.json`",
      ),
      root_key_grace_seconds: wholeNumber({ min: 0, max: 31_536_000, default: 0 }).describe(
        "How long an earlier root key stays valid after another was set",
      ),
      error_docs_url: optionalUrl().describe(
        "Where the `type` of an error leads; empty: `/docs/errors` of the API",
      ),
      trusted_proxies: networkList().describe(
        "Proxies (addresses, CIDR) whose `X-Forwarded-For` is believed",
      ),
      encryption_keys: secretList().describe(
        "Keys that seal recoverable keys, `<id>:<32 bytes in base64>`, in a file one a line; empty: generated",
      ),
      cached_keys: wholeNumber({ min: 0, max: 10_000_000, default: 0 }).describe(
        "Keys cached in memory, about 0.6 kB each; 0: a third of the heap, 1,000,000 at most",
      ),
      region: z
        .string()
        .min(1)
        .default("local")
        .describe("Where this process runs, as recorded in analytics"),
      fast_lane: flag()
        .default(true)
        .describe("Read usual requests by a parser faster than Node's"),
      log_requests: flag()
        .default(false)
        .describe("Log path, status and time of each request; turns the fast lane off"),
      validate_answers: flag()
        .default(false)
        .describe("For tests: an answer that does not match its schema is a 500"),
    })
    .prefault({}),
};
