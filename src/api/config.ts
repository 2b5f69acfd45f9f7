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
      host: z.string().min(1).default("127.0.0.1"),
      port: port(7070),
      /**
       * Threads that serve it, each with an equal share of the cached keys. 0: as many as there are processors,
       * 16 at most, and one for each 512 MB of memory; 1 where the system cannot share a port among threads.
       */
      threads: wholeNumber({ min: 0, max: 64, default: 0 }),
      /** Empty: generated on the first start and kept in `<data_dir>/credentials.json`. */
      root_key: secretText(),
      /** An earlier root key remains valid for so long after another one was set; 0: it ends at once. */
      root_key_grace_seconds: wholeNumber({ min: 0, max: 31_536_000, default: 0 }),
      /** Base of the `type` of errors; empty: `/docs/errors` of this API. */
      error_docs_url: optionalUrl(),
      /** Addresses (CIDR) of proxies in front, whose X-Forwarded-For is believed. */
      trusted_proxies: networkList(),
      /**
       * Keys that seal recoverable keys, `<id>:<32 bytes in base64>`. The first one seals; all open.
       * Empty: one is generated on the first start and kept in `<data_dir>/credentials.json`.
       */
      encryption_keys: secretList(),
      /**
       * Keys that are cached in memory, the least recently used one is evicted first: about 0.6 kB each.
       * 0: as many as fit into a third of the heap, a million at most.
       */
      cached_keys: wholeNumber({ min: 0, max: 10_000_000, default: 0 }),
      /** Location of this process, as recorded in analytics. */
      region: z.string().min(1).default("local"),
      /**
       * True: a parser of this program, which takes less time than Node's, reads usual requests of the most frequent
       * procedures; what it does not know goes to Node's. Never those that are logged, nor by HTTPS.
       */
      fast_lane: flag().default(true),
      /** One log line per request: path, status, time; never a body or a header. */
      log_requests: flag().default(false),
      /** Turns an answer that does not match its procedure's schema into a 500, in tests. */
      validate_answers: flag().default(false),
    })
    .prefault({}),
};
