/** A reporter that tells why a test failed which then passed: a retry must not hide what is to be found. */
import type { Reporter, TestCase } from "vitest/node";

export default class TellRetried implements Reporter {
  onTestCaseResult(test: TestCase): void {
    const { state, errors } = test.result();
    if (state !== "passed" || test.diagnostic()?.flaky !== true) return;
    for (const { message, diff, stack } of errors ?? []) {
      const lines = [message, diff, stack].filter((part) => part !== undefined);
      process.stdout.write(`\nretried: ${test.fullName}\n${lines.join("\n")}\n\n`);
    }
  }
}
