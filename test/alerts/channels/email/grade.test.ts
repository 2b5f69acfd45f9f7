import { describe, expect, it } from "vitest";
import { combineOutcomes, gradeMailError, type MailOutcome } from "#alerts/channels/email/email.ts";

const taken: MailOutcome = { kind: "taken" };
const refused: MailOutcome = { kind: "refused", cause: "status 550" };
const late: MailOutcome = { kind: "retry", cause: "status 451" };
const faulty: MailOutcome = { kind: "retry", cause: "status 535", isChannelFault: true };

describe("gradeMailError", () => {
  it.each([
    { code: 421, command: "CONN", kind: "retry", isFault: false },
    { code: 451, command: "RCPT TO", kind: "retry", isFault: false },
    { code: 452, command: "DATA", kind: "retry", isFault: false },
    { code: 454, command: "AUTH PLAIN", kind: "retry", isFault: false },
    { code: 503, command: "RCPT TO", kind: "retry", isFault: false },
    { code: 535, command: "AUTH PLAIN", kind: "retry", isFault: true },
    { code: 530, command: "RCPT TO", kind: "retry", isFault: true },
    { code: 553, command: "MAIL FROM", kind: "retry", isFault: true },
    { code: 554, command: "CONN", kind: "retry", isFault: true },
    { code: 550, command: "RCPT TO", kind: "refused", isFault: false },
    { code: 552, command: "DATA", kind: "refused", isFault: false },
  ])("$code of $command: $kind, fault of the channel: $isFault", ({ code, command, ...said }) => {
    const fate = gradeMailError({ code: "EENVELOPE", responseCode: code, command });

    expect(fate.kind).toBe(said.kind);
    expect("isChannelFault" in fate).toBe(said.isFault);
  });

  it("repeats codes alone: a server's words may quote what it was sent", () => {
    const response = "550 5.1.1 <ops@example.com>: secret";
    const fate = gradeMailError({ responseCode: 550, response, command: "RCPT TO" });

    expect(fate).toEqual({ kind: "refused", cause: "status 550 5.1.1 of RCPT TO" });
  });

  it("names a fault of the network", () => {
    const error = { code: "ESOCKET", originalCode: "ECONNREFUSED" };

    expect(gradeMailError(error)).toEqual({ kind: "retry", cause: "not sent: ECONNREFUSED" });
  });
});

describe("combineOutcomes", () => {
  it("is accepted when all have it", () => {
    expect(combineOutcomes([taken, taken], true)).toEqual({ kind: "accepted" });
  });

  it("is accepted with a remark when some were refused", () => {
    expect(combineOutcomes([taken, refused], true)).toEqual({
      kind: "accepted",
      remark: "recipient 2 of 2 refused: status 550",
    });
  });

  it("is refused when all were", () => {
    expect(combineOutcomes([refused], true)).toEqual({
      kind: "refused",
      cause: "refused: status 550",
    });
  });

  it("is retried for those whom it has not reached, for some time", () => {
    expect(combineOutcomes([taken, late], true)).toMatchObject({ kind: "retry" });
    expect(combineOutcomes([taken, late], false)).toEqual({
      kind: "accepted",
      remark: "recipient 2 of 2 status 451",
    });
  });

  it("is retried for ever while nobody has it", () => {
    expect(combineOutcomes([refused, late], false)).toMatchObject({ kind: "retry" });
  });

  it("is a fault of the channel only when nobody has it", () => {
    expect(combineOutcomes([faulty, faulty], true)).toMatchObject({ isChannelFault: true });
    expect(combineOutcomes([taken, faulty], true)).not.toHaveProperty("isChannelFault");
  });
});
