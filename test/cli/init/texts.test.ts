import { writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { definitionsText, settingsText } from "#cli/init.ts";
import { readConfig } from "#config.ts";
import { readFiles } from "../../support/definitions/definition-files.ts";
import { standardRows } from "../../support/monitor/standard-definitions.ts";
import { tempDir } from "../../support/temp-dir.ts";

function readSettings(text: string) {
  const file = path.join(tempDir(), "vedette.toml");
  writeFileSync(file, text);
  return readConfig({ file, environment: {} });
}

/** With the lines that are examples, not sentences. */
const uncommented = settingsText.replace(/^# ([a-z_]+ = )/gm, "$1");

it("the settings of init are the defaults, with and without their comments", () => {
  const defaults = readConfig({ environment: {} });

  expect(uncommented).not.toBe(settingsText);
  expect(readSettings(settingsText)).toEqual(defaults);
  expect(readSettings(uncommented)).toEqual(defaults);
});

it("the definitions of init are the standard rows", async () => {
  expect((await readFiles({ "vedette.config.ts": definitionsText })).set).toEqual(standardRows);
});

it("the examples in the definitions of init are valid rows", async () => {
  const examples = definitionsText
    .replace(/^ {4}\/\/ /gm, "    ")
    .replaceAll("Bearer {{SHOP_TOKEN}}", "x {{SHOP_TOKEN}}");

  const { set } = await readFiles({ "vedette.config.ts": examples });

  expect(set.checks.at(-1)?.id).toBe("shop");
  expect(set.heartbeats.at(-1)?.id).toBe("backup");
});
