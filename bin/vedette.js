#!/usr/bin/env node
// Plain JavaScript, because an old Node cannot even read src/main.ts to say what is wrong.
const oldest = [22, 19];
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);

if (major < oldest[0] || (major === oldest[0] && minor < oldest[1])) {
  process.stderr.write(
    `vedette: this is Node ${process.versions.node}, and ${oldest.join(".")} or newer is needed. ` +
      'From the project\'s directory, "npx vedette" takes the one that npm has installed.\n',
  );
  process.exit(1);
}

await import("../src/main.ts");
