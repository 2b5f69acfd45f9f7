import { describe, expect, it } from "vitest";
import { formatLine, type Line, renderSyslog } from "#alerts/channels/syslog.ts";
import { DirectChannel } from "#alerts/rows/contract.ts";
import { buildMessage } from "../../support/alerts/message-builders.ts";
import { issue } from "../../support/http/certificate-chain.ts";

const line: Line = {
  ...{ facility: "audit", severity: "notice", event: "ID47", data: {}, text: "" },
  atMs: Date.UTC(2003, 9, 11, 22, 14, 15, 3),
};
const sender = { host: "mymachine.example.com", process: 8710 };
const format = (given: Partial<Line>, host = sender.host) =>
  formatLine({ ...line, ...given }, { ...sender, host });

const start = "<109>1 2003-10-11T22:14:15.003Z mymachine.example.com vedette 8710";

describe("formatLine", () => {
  // After the examples of RFC 5424, 6.5 and 6.3.5.
  it.each<{ of: string; given: Partial<Line>; line: string }>([
    {
      of: "a text of ASCII, without a byte order mark",
      given: { text: "%% It's time to make the do-nuts. %%" },
      line: `${start} ID47 [vedette@32473] %% It's time to make the do-nuts. %%`,
    },
    {
      of: "a text that is not ASCII, after the byte order mark",
      given: { text: "'su röot' failed" },
      line: `${start} ID47 [vedette@32473] \ufeff'su röot' failed`,
    },
    {
      of: "structured data",
      given: { data: { iut: "3", eventSource: "Application", eventID: "1011" }, text: "x" },
      line: `${start} ID47 [vedette@32473 iut="3" eventSource="Application" eventID="1011"] x`,
    },
    {
      of: "values with the three characters that are escaped, and without line ends",
      given: { data: { a: '"]\\', b: "ü\r\nb" } },
      line: `${start} ID47 [vedette@32473 a="\\"\\]\\\\" b="ü b"] `,
    },
    {
      of: "a value of any length, cut",
      given: { data: { a: "x".repeat(1_000) } },
      line: `${start} ID47 [vedette@32473 a="${"x".repeat(249)}…"] `,
    },
    {
      of: "a message id that is too long, or has what it may not have",
      given: { event: `ä key.create\n${"x".repeat(40)}` },
      line: `${start} key.create${"x".repeat(22)} [vedette@32473] `,
    },
    {
      of: "an alert that is critical",
      given: { facility: "alert", severity: "critical", event: "" },
      line: `${start.replace("<109>", "<114>")} - [vedette@32473] `,
    },
  ])("writes $of", ({ given, line }) => {
    expect(format(given)).toBe(line);
  });

  it.each([
    ["a b\n", "ab"],
    ["", "-"],
    ["ü", "-"],
    ["x".repeat(300), "x".repeat(255)],
  ])("writes the host %j as RFC 5424 has it", (host, written) => {
    expect(format({}, host).split(" ")[2]).toBe(written);
  });
});

describe("renderSyslog", () => {
  it("has the headline, and who it is about as data", () => {
    expect(renderSyslog(buildMessage({ name: "Größe" }))).toEqual({
      ...{ facility: "alert", severity: "critical", event: "alert.firing" },
      atMs: Date.UTC(2026, 0, 1),
      data: {
        ...{ check: "verify-key", environment: "production", dedup_key: "verify-key:3" },
        event_id: "verify-key:3:opened",
        url: "https://vedette.example.com/console/checks/verify-key",
      },
      text: "Failed: Größe: status 500",
    });
  });

  it("cuts the lines of a notice, so that a receiver takes them whole", () => {
    const lines = ["中".repeat(9_000)];
    const notice = { id: "n", title: "t", tone: "danger" as const, lines, fields: [] };
    const line = renderSyslog({ kind: "notice", notice, eventId: "n", atMs: 0, url: null });

    expect(Buffer.byteLength(formatLine(line))).toBeLessThan(8_096);
  });

  it.each([
    { of: "a failure in staging", message: { environment: "staging" as const }, said: "warning" },
    { of: "a recovery", message: { kind: "resolved" as const }, said: "notice" },
    { of: "a test", message: { isTest: true as const }, said: "info" },
  ])("gives $of the severity $said", ({ message, said }) => {
    expect(renderSyslog(buildMessage(message)).severity).toBe(said);
  });
});

describe("a row of the kind syslog", () => {
  const faultsOf = (fields: object) =>
    DirectChannel.safeParse({ id: "logs", kind: "syslog", ...fields }).error?.issues.map(
      ({ path, message }) => `${path.join(".")} ${message}`,
    );
  const url = "tls://logs.example.com:6514";

  it("may have several authorities", async () => {
    const [one, other] = [await issue({ name: "a", days: 1 }), await issue({ name: "b", days: 1 })];

    expect(faultsOf({ url, ca: `${one.pem}\n${other.pem}\n` })).toBeUndefined();
  });

  it.each([
    [{ url: "udp://logs.example.com:514" }, "url has to begin with tls:// or tcp://"],
    [{ url, ca: "/etc/ssl/ca.pem" }, "ca has to be certificates in PEM"],
    [
      { url, ca: "-----BEGIN CERTIFICATE-----\nabcd\n-----END CERTIFICATE-----" },
      "ca has to be certificates in PEM",
    ],
  ])("is refused as %j", (fields, fault) => {
    expect(faultsOf(fields)).toEqual([fault]);
  });
});
