import { describe, expect, it } from "vitest";
import { refuseForIngress } from "#control/refusal.ts";

const refuse = (status: number, body: unknown) =>
  refuseForIngress({ status, body, invocationId: undefined });

describe("refuseForIngress", () => {
  it("keeps the status, the code and the message of our own refusals", () => {
    const body = {
      code: 503,
      message: "registry is away",
      metadata: { code: "registry_unavailable" },
    };

    expect(refuse(503, body)).toMatchObject({
      status: 503,
      code: "registry_unavailable",
      message: "registry is away",
    });
  });

  it("answers conflict for a 409 without a code, as of a killed invocation", () => {
    expect(refuse(409, { message: "killed" })).toMatchObject({ code: "conflict" });
  });

  it("forwards nothing of a failed handler's message, and keeps it for the log", () => {
    const refusal = refuse(500, { message: "TypeError at object.ts" });

    expect(refusal.message).not.toContain("TypeError");
    expect(String(refusal.cause)).toContain("TypeError");
  });

  it("answers 503 for a listed handler that no worker has registered with Restate yet", () => {
    const body = { message: "service 'x' not found", source: "ingress" };

    expect(refuse(404, body)).toMatchObject({ status: 503, code: "unavailable" });
  });

  it("says of a 5xx that Restate's header ascribes to the handler that the worker failed", () => {
    const answer = { status: 500, body: { message: "boom" }, invocationId: "inv_1" };

    const refusal = refuseForIngress({ ...answer, source: "invocation" });

    expect(refusal.message).toBe(
      "the call failed inside the worker; the log of this request has the cause",
    );
    expect(refuseForIngress(answer).message).not.toContain("worker");
  });

  it("reads from the header that no worker has registered a handler", () => {
    const answer = { status: 404, body: {}, invocationId: undefined, source: "ingress" } as const;

    expect(refuseForIngress(answer)).toMatchObject({ status: 503, code: "unavailable" });
  });

  it.each([undefined, "text", 5, []])("makes do with %j as a body", (body) => {
    expect(refuse(400, body)).toMatchObject({ status: 400, code: "invalid_request" });
  });
});
