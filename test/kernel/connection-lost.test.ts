import { expect, it } from "vitest";
import { isConnectionLost } from "#kernel/database-faults.ts";

const failure = (code: string | undefined) =>
  Object.assign(new Error("failed"), code !== undefined && { code });

it.each([undefined, "ECONNREFUSED", "ECONNRESET", "EPIPE", "08006", "57P01", "57P03"])(
  "%s: the database cannot be reached",
  (code) => {
    expect(isConnectionLost(failure(code))).toBe(true);
  },
);

it.each(["57014", "40P01", "55P03", "22021", "XX000", "53300"])(
  "%s: the database has answered",
  (code) => {
    expect(isConnectionLost(failure(code))).toBe(false);
  },
);
