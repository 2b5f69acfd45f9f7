import { describe, expect, it } from "vitest";
import { createCertificateRenewal } from "#cron/jobs/keys.ts";
import { ProblemError } from "#kernel/problem.ts";
import { startCronBench } from "../../../support/monitor/cron-bench.ts";
import { waitFor } from "../../../support/wait-for.ts";

const expiresMs = Date.parse("2027-02-19T10:00:00Z");

describe("the job certificate-renewal", () => {
  it("asks for the first certificate as soon as there is a worker", async () => {
    let asked = 0;
    const job = createCertificateRenewal(async () => {
      asked += 1;
      return { isNew: true, expiresMs };
    });
    const bench = await startCronBench({ jobs: { "certificate-renewal": job } });

    await bench.start();
    await bench.start();

    await waitFor(() => bench.pings.length === 1, { withinMs: 20_000, what: "the first run" });
    expect(asked).toBe(1);
    const lastRun = await waitFor(
      async () => (await bench.call("certificate-renewal", "Status")).body["last_run"],
      { withinMs: 10_000, what: "the run to be recorded" },
    );
    expect(lastRun).toMatchObject({
      outcome: "succeeded",
      summary: "new certificate, good until 2027-02-19",
    });
  });

  it("asks an authority that refuses once an hour and no more often", async () => {
    let asked = 0;
    const job = createCertificateRenewal(async () => {
      asked += 1;
      const detail = "the proof is not good enough";
      throw new ProblemError({ status: 502, code: "not_renewed", detail });
    });
    const bench = await startCronBench({ jobs: { "certificate-renewal": job } });

    const { body } = await bench.call("certificate-renewal", "Run");

    expect(body).toMatchObject({ outcome: "failed", summary: "the proof is not good enough" });
    expect(asked).toBe(1);
    expect(bench.pings).toEqual([]);
  });

  it("asks an authority again soon that did not answer", async () => {
    let asked = 0;
    const job = createCertificateRenewal(async () => {
      asked += 1;
      if (asked === 1) throw new Error("no answer");
      return { isNew: true, expiresMs };
    });
    const bench = await startCronBench({ jobs: { "certificate-renewal": job } });

    const { body } = await bench.call("certificate-renewal", "Run");

    expect(body).toMatchObject({ outcome: "succeeded" });
  });
});
