import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    projects: [
      { test: { name: "unit", include: ["test/**/*.test.ts"], exclude: ["test/integration/**"] } },
      {
        test: {
          name: "integration",
          include: ["test/integration/**/*.test.ts"],
          // Only what hangs ends here: a busy machine may be several times slower than a calm one.
          testTimeout: 300_000,
          hookTimeout: 300_000,
          // Each file starts its own servers: two at a time is what a machine of two cores carries.
          maxWorkers: 2,
        },
      },
    ],
  },
});
