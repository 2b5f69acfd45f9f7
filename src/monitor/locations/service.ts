/** `MonitorRunners`: who may report runs from further places. */
import { implement } from "@restatedev/restate-sdk";
import { databaseRead, readNow } from "#kernel/read-now.ts";
import { asTerminalError } from "#kernel/terminal.ts";
import { runnerRegistry } from "#monitor/internal.ts";
import { refusal } from "#monitor/operations/rules.ts";
import type { Runners } from "./runners.ts";

/** `location`: where the program itself runs checks. */
type Parts = { runners: Runners; location: string };

const problem = "the places cannot be asked for";
const listing = databaseRead("list", { limitMs: 5_000, problem });
/** Left behind, a change would take effect after its caller was told that it had not. */
const changes = { limitMs: 330_000, problem };
const adding = databaseRead("add", changes);
const removal = databaseRead("remove", changes);

export function createRunnerRegistry({ runners, location: own }: Parts) {
  return implement(runnerRegistry, {
    handlers: {
      Add: async (ctx, { location, token_hash }) => {
        // Two would report for one place, and the slower one would never be heard.
        if (location === own) throw refusal(409, "location_taken", `${own} is where Vedette is`);
        const add = () => runners.add(location, token_hash);
        const { replaced } = await readNow(ctx, adding, add);
        return { location, replaced };
      },
      Remove: async (ctx, { location }) => {
        await readNow(ctx, removal, () => runners.remove(location));
        return { location };
      },
      List: async (ctx) => ({ runners: await readNow(ctx, listing, () => view(runners)) }),
    },
    options: {
      journalRetention: 0,
      asTerminalError,
    },
  });
}

async function view(runners: Runners) {
  const known = await runners.list();
  return known.map(({ location, createdAt, seenAt }) => ({
    location,
    created_at: createdAt.toISOString(),
    seen_at: seenAt?.toISOString() ?? null,
  }));
}
