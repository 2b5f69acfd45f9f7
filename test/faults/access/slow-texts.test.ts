/** Texts of strangers that patterns would read again and again: time by the square of their length. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";

/** In a process of its own, which can be ended. */
async function evaluate(script: string): Promise<string> {
  const args = ["--no-warnings", "--input-type=module", "-e", script];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 45_000 });
  return stdout.trim();
}

const slashes = '"/".repeat(800_000)';
const hostile: [string, string, RegExp | string][] = [
  [
    "the image of a plan of slashes",
    `import { rolloutHandlers } from "#rollout/contract.ts";
     const { error } = rolloutHandlers.Plan.input.safeParse({ image: "a" + ${slashes} });
     console.log(error.issues.map(({ message }) => message).join());`,
    /at most 512 characters.*it has neither a tag nor a digest/,
  ],
  [
    "an image's label of a repository of slashes",
    `import { checkCommit } from "#ci/commit/check.ts";
     const labels = new Map([["org.opencontainers.image.revision", "a".repeat(40)],
       ["org.opencontainers.image.source", "https://github.com/acme/gw" + ${slashes} + "x"]]);
     const rules = { repositories: ["https://github.com/acme/gw"], branches: [], required: [] };
     console.log((await checkCommit(labels, rules, {})).result);`,
    "unverifiable",
  ],
  [
    "a provenance's source of slashes",
    `import { normalizeSource } from "#ci/sigstore/grade.ts";
     console.log(normalizeSource("https://github.com/acme/gw" + ${slashes} + "x").length);`,
    "800027",
  ],
  [
    "the state of a trace of spaces and commas",
    `import { readTrace } from "#kernel/tracing.ts";
     const traceparent = "00-" + "a".repeat(32) + "-" + "b".repeat(16) + "-01";
     const states = [" ,".repeat(250), " ,".repeat(31) + "=", "a=" + " ".repeat(509)];
     console.log(states.map((tracestate) => readTrace({ traceparent, tracestate }).length).join());`,
    "55,55,55",
  ],
  [
    "why a container was not started, of a megabyte of one word,",
    `import { startFailure } from "#fleet/drivers/docker/judge.ts";
     console.log(startFailure("network ".repeat(130_000)).length);`,
    "213",
  ],
  [
    "why an image was not pulled, of a megabyte of one word,",
    `import { classifyPull } from "#fleet/drivers/pull-failure.ts";
     const code = (words) => classifyPull(words)?.code ?? "unknown";
     console.log(code("oauth token".repeat(180_000) + " 401 "), code("oauth token: 401 denied"));`,
    "image_auth image_auth",
  ],
  [
    "a fleet's page that repeats its token before millions of ellipses",
    `import { withoutSecret } from "#kernel/body.ts";
     const token = "Zx9qR4tBn7".repeat(5);
     const page = Buffer.from(token + "…".repeat(5_000_000) + token.slice(0, 9) + "…");
     const read = withoutSecret(page, token).toString();
     console.log(read.slice(0, 4), read.slice(-5), read.length);`,
    "***… …***… 5000007",
  ],
];

it.each(hostile)("%s is judged in time", async (_what, script, outcome) => {
  expect(await evaluate(script)).toMatch(outcome);
});

it("the slashes at an address's end still make no difference", async () => {
  const script = `import { readRepository } from "#ci/commit/repository.ts";
    import { normalizeSource } from "#ci/sigstore/grade.ts";
    const address = "https://github.com/acme/gw//";
    console.log(readRepository(address).url, normalizeSource(address));`;

  expect(await evaluate(script)).toBe("https://github.com/acme/gw https://github.com/acme/gw");
});
