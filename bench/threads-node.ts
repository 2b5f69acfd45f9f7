/** The `api` role of `vedette start` in a process of its own, of bench/threads.ts; its settings are in the environment. */
import { pino } from "pino";
import { startApp } from "#app/app.ts";
import { readConfig } from "#config.ts";

const config = readConfig({ environment: process.env });
const allServe = Promise.withResolvers<void>();
if (config.api.threads === 1) allServe.resolve();
const stream = {
  write: (line: string) => {
    if (line.includes("further threads serve")) allServe.resolve();
  },
};
const app = await startApp(config, { roles: ["api"], log: pino({ level: "info" }, stream) });
await allServe.promise;
const { api: url, metrics } = app.endpoints;
process.send?.({ url, metricsUrl: `${metrics}/metrics` });
process.once("SIGTERM", async () => {
  await app.stop();
  process.exit();
});
