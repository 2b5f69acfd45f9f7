import { describe, expect, it } from "vitest";
import { serverOf } from "#alerts/channels/email/email.ts";
import { emailChannel } from "../../../support/alerts/message-builders.ts";

const server = (url: string, given: { tls?: "required" | "optional"; secret?: string } = {}) =>
  serverOf({
    address: new URL(url),
    secret: given.secret,
    channel: {
      ...emailChannel,
      tls: given.tls ?? "required",
      ...(given.secret !== undefined && { user: "vedette" }),
    },
    timeoutMs: 10_000,
  });

const strict = { requireTLS: true, tls: { rejectUnauthorized: true } };
const lenient = { requireTLS: false, tls: { rejectUnauthorized: false } };

describe("serverOf", () => {
  it("asks for STARTTLS with a valid certificate", () => {
    expect(server("smtp://mail.example.com")).toMatchObject({ ...strict, port: 587 });
  });

  it("speaks TLS from the beginning under smtps", () => {
    const expected = { secure: true, port: 465, tls: { rejectUnauthorized: true } };

    expect(server("smtps://mail.example.com", { tls: "optional" })).toMatchObject(expected);
  });

  it("does without where the row says so, but never with a password", () => {
    const url = "smtp://mail.example.com";

    expect(server(url, { tls: "optional" })).toMatchObject(lenient);
    expect(server(url, { tls: "optional", secret: "p" })).toMatchObject(strict);
  });

  it.each(["127.0.0.1", "localhost", "[::1]"])("does without at %s", (host) => {
    expect(server(`smtp://${host}:25`, { secret: "p" })).toMatchObject(lenient);
  });
});
