// What npm runs once the packages are there: builds the console's page. Where optional packages were
// left out, a newer Node or the bundler may be missing: that is said, and only a start without the
// page fails.
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
