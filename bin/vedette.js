#!/usr/bin/env node
import { complainOfNode } from "./node-version.js";

const complaint = complainOfNode();
if (complaint !== undefined) {
  process.stderr.write(complaint);
  process.exit(1);
}

await import("../src/main.ts");
