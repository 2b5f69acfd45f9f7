import { z } from "zod";

/** A process as it is recorded in a file. */
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
  /** Absent for a process that serves the public API only. */
  restate_ingress: z.string().optional(),
  restate_admin: z.string().optional(),
  worker: z.string().optional(),
  metrics: z.string().optional(),
  /** The embedded Postgres, without user and password. */
  database: z.string().optional(),
  pid: z.int(),
  /** Identifies the process, because pids are reused. Absent where a process has no such identity. */
  process: Process.optional(),
});
export type Endpoints = z.infer<typeof Endpoints>;

/** `<data_dir>/credentials.json`, mode 0600, all of it secret. Fields of a newer version are kept on writing. */
export const Credentials = z.looseObject({
  ingress_token: z.string().min(1),
  root_key: z.string().min(1),
  /** A root key that only verifies keys, for the gateways of the local fleet. */
  sentinel_key: z.string().min(1),
  /** A root key that only verifies keys and limits, for checks of this installation's own API. */
  check_key: z.string().min(1),
  database_password: z.string().min(1),
  /** ed25519, PKCS #8 PEM: Restate signs its requests to the worker with it. */
  restate_identity_key: z.string().min(1),
  /** Seals recoverable keys at rest: `<id>:<32 bytes in base64>`. */
  encryption_key: z.string().min(1),
});
export type Credentials = z.infer<typeof Credentials>;
