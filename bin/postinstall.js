// npm runs this after an install: it builds the console's page. Without optional packages a new enough Node
// or the bundler may be missing: then it prints a message and the install succeeds; only a later start
// without the page fails.
import { complainOfNode } from "./node-version.js";

const complaint = complainOfNode();
if (complaint !== undefined) process.stderr.write(complaint);
else {
  const { BundlerMissing, buildConsole } = await import("../src/console/build.ts");
  try {
    await buildConsole();
  } catch (error) {
    if (!(error instanceof BundlerMissing)) throw error;
    process.stderr.write(`vedette: ${error.message}\n`);
  }
}
