/** `MonitorRunners`: manages the runners that may report from further locations. */
import { implement } from "@restatedev/restate-sdk";
import { nameOf, type ReadActor } from "#kernel/actor.ts";
import { databaseRead, readNow } from "#kernel/read-now.ts";
import { asTerminalError } from "#kernel/terminal.ts";
import { runnerRegistry } from "#monitor/internal.ts";
import { refusal } from "#monitor/operations/rules.ts";
import type { Runners } from "./runners.ts";

/** `location`: that of the program's own runs. */
type Parts = { runners: Runners; location: string; readActor: ReadActor };

const problem = "the runners cannot be read or changed";
const listing = databaseRead("list", { limitMs: 5_000, problem });
/** Longer than a statement can take: a change must not take effect after its caller got an error. */
const changes = { limitMs: 330_000, problem };
const adding = databaseRead("add", changes);
const removal = databaseRead("remove", changes);

export function createRunnerRegistry({ runners, location: own, readActor }: Parts) {
  return implement(runnerRegistry, {
    handlers: {
      Add: async (ctx, { location, token_hash }) => {
        // With two reporters at one location, the reports of the slower one would be ignored.
        if (location === own) {
          throw refusal(409, "location_taken", `${own} is the location of Vedette itself`);
        }
        const by = nameOf(readActor(ctx));
        const add = () => runners.add(location, { tokenHash: token_hash, by });
        const { replaced } = await readNow(ctx, adding, add);
        ctx.console.info("runner added", { location, by, replaced });
        return { location, replaced };
      },
      Remove: async (ctx, { location }) => {
        await readNow(ctx, removal, () => runners.remove(location));
        ctx.console.info("runner removed", { location, by: nameOf(readActor(ctx)) });
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
  return known.map(({ location, createdAt, addedBy, seenAt }) => ({
    location,
    created_at: createdAt.toISOString(),
    added_by: addedBy,
    seen_at: seenAt?.toISOString() ?? null,
  }));
}
