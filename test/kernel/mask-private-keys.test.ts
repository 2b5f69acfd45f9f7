import { describe, expect, it } from "vitest";
import { maskPrivateKeys, maskSecrets } from "#kernel/log.ts";

const begin = "-----BEGIN RSA PRIVATE KEY-----";
const end = "-----END RSA PRIVATE KEY-----";
const full = "MIIEowIBAAKCAQEA/abc+123".repeat(2);
const short = "Zm9vYg==";
const at = "2026-11-26T13:20:00.123Z gw-1 |";

describe("maskPrivateKeys", () => {
  it("masks all between beginning and end", () => {
    const text = `a\n${begin}\n${full}\n${short}\n${end}\nb`;

    expect(maskPrivateKeys(text)).toBe(`a\n${begin}***${end}\nb`);
  });

  it.each([
    ["headers", `Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0011\n\n${full}\n${short}`],
    ["words before each line", `${at} ${full}\n${at} ${short}\n${at} `],
    ["line ends of JSON", String.raw`\n${full}\n${short}\n`],
  ])("masks a key with %s", (_name, body) => {
    const isOneLine = body.startsWith("\\");
    const text = isOneLine ? `${begin}${body}${end} b` : `${begin}\n${body}${end} b`;

    expect(maskPrivateKeys(text)).toBe(`${begin}***${end} b`);
  });

  it("masks a key of PGP", () => {
    const [first, last] = ["BEGIN", "END"].map((word) => `-----${word} PGP PRIVATE KEY BLOCK-----`);

    expect(maskPrivateKeys(`${first}\nVersion: x\n\n${full}\n=abcd\n${last}`)).toBe(
      `${first}***${last}`,
    );
  });

  it("masks the lines of one whose end is missing, and leaves those that follow", () => {
    const text = `${begin}\nProc-Type: 4,ENCRYPTED\n\n${full}\n${full}\n${short}\nlistening on 8080.\nready`;

    expect(maskPrivateKeys(text)).toBe(
      `${begin}\nProc-Type: 4,ENCRYPTED\n\n***\n***\n***\nlistening on 8080.\nready`,
    );
    expect(maskPrivateKeys(`${begin}\nMIIE\nabcd`)).toBe(`${begin}\n***\n***`);
    expect(maskPrivateKeys(`${at} ${begin}\n${at} ${full}\n${at} ${short}\n${at} up: 1.`)).toBe(
      `${at} ${begin}\n${at} ***\n${at} ***\n${at} up: 1.`,
    );
  });

  it("masks the lines of one whose beginning is missing, and leaves those before", () => {
    const text = `ready\nlistening on 8080.\n${full}\n${full}\n${short}\n${end}\nb`;

    expect(maskPrivateKeys(text)).toBe(`ready\nlistening on 8080.\n***\n***\n***\n${end}\nb`);
    expect(maskPrivateKeys(`${at} ${full}\n${at} ${short}\n${at} ${end}`)).toBe(
      `${at} ***\n${at} ***\n${at} ${end}`,
    );
    expect(maskPrivateKeys(String.raw`${full}\n${short}\n${end}`)).toBe(`***${end}`);
  });

  it("masks both of two keys of which each is a part", () => {
    const text = `${full}\n${end}\nbetween\n${begin}\n${full}`;

    expect(maskPrivateKeys(text)).toBe(`***\n${end}\nbetween\n${begin}\n***`);
  });

  it("leaves what only speaks of keys", () => {
    const text = `no PRIVATE KEY in ${full}\n-----BEGIN CERTIFICATE-----\n${full}`;

    expect(maskPrivateKeys(text)).toBe(text);
  });

  it("is a part of masking secrets", () => {
    expect(maskSecrets(`${begin}\n${full}\n${end}`)).toBe(`${begin}***${end}`);
  });
});
