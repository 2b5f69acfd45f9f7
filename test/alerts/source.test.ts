import { writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { createSourceOf } from "#alerts/source.ts";
import { tempDir } from "../support/temp-dir.ts";

const whole = { source_id: "01A", source_kind: "checkly", token: "t", token_file: "" } as const;
const url = "https://incident.example.com";

describe("createSourceOf", () => {
  it("gives each environment its own address", () => {
    const staging = { ...whole, source_id: "01/B", source_kind: "alertmanager" } as const;

    const sourceOf = createSourceOf(url, { production: whole, staging });

    expect(sourceOf("production")?.url).toBe(`${url}/v2/alert_events/checkly/01A`);
    expect(sourceOf("staging")?.url).toBe(`${url}/v2/alert_events/alertmanager/01%2FB`);
  });

  it.each([
    { lacks: "address", at: "", settings: whole },
    { lacks: "source", at: url, settings: { ...whole, source_id: "" } },
    { lacks: "token", at: url, settings: { ...whole, token: "" } },
  ])("gives nothing where the settings have no $lacks", ({ at, settings }) => {
    const sourceOf = createSourceOf(at, { production: settings, staging: settings });

    expect(sourceOf("production")).toBeUndefined();
  });

  it("reads the token file anew each time, without the end of its line", () => {
    const file = path.join(tempDir(), "token");
    writeFileSync(file, "one\n");
    const settings = { ...whole, token: "", token_file: file };
    const source = createSourceOf(url, { production: settings, staging: settings })("production");
    const first = source?.readToken();

    writeFileSync(file, "two");

    expect([first, source?.readToken()]).toEqual(["one", "two"]);
  });

  it("throws while the token file is empty", () => {
    const file = path.join(tempDir(), "token");
    writeFileSync(file, "\n");
    const settings = { ...whole, token_file: file };
    const source = createSourceOf(url, { production: settings, staging: settings })("staging");

    expect(() => source?.readToken()).toThrow("is empty");
  });
});
