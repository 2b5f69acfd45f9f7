/** `MonitorRunners`: who may report runs from further places. */
import { implement } from "@restatedev/restate-sdk";
import { asTerminalError } from "#kernel/terminal.ts";
import { runnerRegistry } from "./internal.ts";
import type { MonitorParts } from "./parts.ts";
import type { Runners } from "./runners.ts";
import { refusal } from "./standing.ts";

export function createRunnerRegistry({
  runners,
  location: own,
}: Pick<MonitorParts, "runners" | "location">) {
  return implement(runnerRegistry, {
    handlers: {
      Add: async (ctx, { location, token_hash }) => {
        // Two would report for one place, and the slower one would never be heard.
        if (location === own) throw refusal(409, "location_taken", `${own} is where Vedette is`);
        const { replaced } = await ctx.run("add", () => runners.add(location, token_hash));
        return { location, replaced };
      },
      Remove: async (ctx, { location }) => {
        await ctx.run("remove", () => runners.remove(location));
        return { location };
      },
      List: async (ctx) => ({ runners: await ctx.run("list", () => describe(runners)) }),
    },
    options: {
      journalRetention: 0,
      asTerminalError,
    },
  });
}

async function describe(runners: Runners) {
  const known = await runners.list();
  return known.map(({ location, createdAt, seenAt }) => ({
    location,
    created_at: createdAt.toISOString(),
    seen_at: seenAt?.toISOString() ?? null,
  }));
}
