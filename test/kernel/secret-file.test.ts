import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { readSecretVariable } from "#kernel/files.ts";
import { tempDir } from "../support/temp-dir.ts";

function secretFile(content: string): string {
  const file = path.join(tempDir(), "secret");
  writeFileSync(file, content);
  return file;
}

describe("readSecretVariable", () => {
  it("has the value of the variable, or undefined for an empty or absent one", () => {
    expect(readSecretVariable({ A: " hunter2\n" }, "A")).toBe("hunter2");
    expect(readSecretVariable({ A: "" }, "A")).toBeUndefined();
    expect(readSecretVariable({}, "A")).toBeUndefined();
  });

  it("has what the file contains, without space and line ends around it", () => {
    const file = secretFile("  pass word\r\n");

    expect(readSecretVariable({ A_FILE: file }, "A")).toBe("pass word");
    expect(readSecretVariable({ A: "", A_FILE: file }, "A")).toBe("pass word");
  });

  it("takes an empty name of a file for none", () => {
    expect(readSecretVariable({ A: "hunter2", A_FILE: "" }, "A")).toBe("hunter2");
  });

  it("follows a symbolic link, as Kubernetes mounts secrets", () => {
    const link = path.join(tempDir(), "mounted");
    symlinkSync(secretFile("hunter2"), link);

    expect(readSecretVariable({ A_FILE: link }, "A")).toBe("hunter2");
  });

  it("refuses both, without either's value", () => {
    const both = () => readSecretVariable({ A: "hunter2", A_FILE: secretFile("hunter3") }, "A");

    expect(both).toThrow(/^A and A_FILE are both set: unset one$/);
  });

  it("says why it cannot take a file, and does not repeat what may be the secret itself", () => {
    const directory = tempDir();
    mkdirSync(path.join(directory, "d"));
    const faults = [
      [path.join(directory, "absent"), "does not exist"],
      [path.join(directory, "d"), "is no file of at most 65536 bytes"],
      [secretFile("x".repeat(65_537)), "is no file of at most 65536 bytes"],
      [secretFile(" \n"), "is empty"],
      ["/dev/zero", "is no file of at most 65536 bytes"],
    ] as const;

    for (const [file, fault] of faults) {
      const read = () => readSecretVariable({ A_FILE: file }, "A");
      expect(read).toThrow(new Error(`A_FILE names a file that ${fault}`));
    }
  });
});
