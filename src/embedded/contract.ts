import { z } from "zod";

/** A process as it is written down in a file. */
export const Process = z.object({
  pid: z.int().positive(),
  startedAt: z.string(),
  bootId: z.string().optional(),
  pidNamespace: z.string().optional(),
});

/** `<data_dir>/endpoints.json`: where the parts of a running program listen. */
export const Endpoints = z.object({
  api: z.string().optional(),
  control: z.string().optional(),
  /** Of a process that serves the public API alone there is none. */
  restate_ingress: z.string().optional(),
  restate_admin: z.string().optional(),
  worker: z.string().optional(),
  metrics: z.string().optional(),
  /** The embedded Postgres, without user and password. */
  database: z.string().optional(),
  pid: z.int(),
  /** The process beyond doubt: a pid is given to others after it. An earlier version names none. */
  process: Process.optional(),
});
export type Endpoints = z.infer<typeof Endpoints>;

/**
 * `<data_dir>/credentials.json`, mode 0600: what was generated on the first start. All secret. What a newer
 * version keeps here besides stays, also when this one writes the file.
 */
export const Credentials = z.looseObject({
  ingress_token: z.string().min(1),
  root_key: z.string().min(1),
  /** A root key that only verifies keys, for the gateways of the local fleet. */
  sentinel_key: z.string().min(1),
  database_password: z.string().min(1),
  /** ed25519, PKCS #8 PEM: Restate signs its requests to the worker with it. */
  restate_identity_key: z.string().min(1),
  /** Seals recoverable keys at rest: `<id>:<32 bytes in base64>`. */
  encryption_key: z.string().min(1),
});
export type Credentials = z.infer<typeof Credentials>;
