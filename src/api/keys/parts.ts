/** The parts that the procedures of the namespace `keys` are given. */
import type { AnalyticsRecorder } from "#api/analytics/recording/recorder.ts";
import type { KeyRecord } from "#api/cache/key-record.ts";
import type { MakeChange } from "#api/changes/change.ts";
import type { KeyRing } from "#api/keys/recoverable/key-ring.ts";
import type { VerifyInput } from "#api/keys/verify/schemas.ts";
import type { Limiter } from "#api/limiter.ts";
import type { Call } from "#api/procedure.ts";
import type { Database } from "#kernel/database.ts";
import type { Payment } from "./verify/credits.ts";

export type KeyParts = {
  database: Database;
  change: MakeChange;
  /** Seals and opens recoverable keys. */
  keyRing: KeyRing;
  verify: VerifyParts;
};

export type VerifyParts = {
  findKey: (key: string, input: VerifyInput, call: Call) => FoundKey | Promise<FoundKey>;
  limiter: Limiter;
  recorder: Pick<AnalyticsRecorder, "verification">;
  /** Location of this process, for analytics. */
  region: string;
  spendCredits: (keyId: string, cost: number) => Promise<Payment>;
  readCredits: (keyId: string) => Promise<number | null>;
};

type FoundKey = KeyRecord | undefined;
