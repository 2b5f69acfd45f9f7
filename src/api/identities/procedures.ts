/** The namespace `identities`: who holds keys, with limits that all their keys share. */
import { z } from "zod";
import type { MakeChange } from "#api/changes/change.ts";
import { demand, type Procedures, procedure } from "#api/procedure.ts";
import { list } from "#api/schemas/list.ts";
import { likePattern, toPage } from "#api/schemas/page.ts";
import {
  ExternalId,
  IdentityResponse,
  Meta,
  pageSize,
  RatelimitRequest,
  text,
} from "#api/schemas/schema.ts";
import type { Database } from "#kernel/database.ts";
import { describeIdentity } from "./describe-identity.ts";
import { createIdentity, deleteIdentity, updateIdentity } from "./identity-changes.ts";
import { findIdentity, listIdentityIds, readIdentities } from "./identity-store.ts";
import { ofIdentities, ofIdentity } from "./requirement.ts";

type Parts = { database: Database; change: MakeChange };

/** An identity by its id or its external id. */
const Identity = text({ min: 1 });
const Ratelimits = list(RatelimitRequest, { max: 50 }).optional();

export function identitiesProcedures(parts: Parts): Procedures {
  return { ...readProcedures(parts), ...changeProcedures(parts) };
}

function readProcedures({ database }: Parts) {
  return {
    getIdentity: procedure({
      summary: "Answers an identity by its id or external id.",
      input: z.strictObject({ identity: Identity }),
      output: IdentityResponse,
      refusals: [404],
      handle: async (input, call) => {
        const identity = await findIdentity(database, call.workspaceId, input.identity);
        demand(call, ofIdentity(call, identity.id, "read_identity"));
        return { data: describeIdentity(identity) };
      },
    }),
    listIdentities: procedure({
      summary: "Lists identities by id, a page at a time.",
      input: z.strictObject({
        limit: pageSize(100),
        cursor: text().optional(),
        search: text({ max: 256 }).optional(),
      }),
      output: z.array(IdentityResponse),
      handle: async ({ limit, cursor = "", search }, call) => {
        const { workspaceId } = call;
        const query = { workspaceId, limit, cursor, pattern: likePattern(search) };
        const { rows, pagination } = toPage(await listIdentityIds(database, query), limit);
        if (rows.length === 0) demand(call, ofIdentities(call, "read_identity"));
        const ids = rows.map(({ id }) => id);
        for (const id of ids) demand(call, ofIdentity(call, id, "read_identity"));
        const identities = await readIdentities(database, ids);
        return { data: identities.map(describeIdentity), pagination };
      },
    }),
  };
}

function changeProcedures({ change }: Parts) {
  return {
    createIdentity: procedure({
      summary: "Creates an identity.",
      input: z.strictObject({
        externalId: ExternalId,
        meta: Meta.optional(),
        ratelimits: Ratelimits,
      }),
      output: z.object({ identityId: z.string() }),
      refusals: [409],
      handle: async (input, call) => {
        demand(call, ofIdentities(call, "create_identity"));
        return {
          data: { identityId: await change(call, (made) => createIdentity(made, call, input)) },
        };
      },
    }),
    updateIdentity: procedure({
      summary: "Changes an identity's metadata, its limits, or both.",
      input: z.strictObject({
        identity: Identity,
        meta: Meta.optional(),
        ratelimits: Ratelimits,
      }),
      output: IdentityResponse,
      refusals: [404],
      handle: async (input, call) => {
        demand(call, ofIdentities(call, "update_identity"));
        const identity = await change(call, (made) => updateIdentity(made, call, input));
        // As the contract's own server has it: only metadata that was sent is echoed.
        return { data: describeIdentity({ ...identity, meta: input.meta ?? null }) };
      },
    }),
    deleteIdentity: procedure({
      summary: "Deletes an identity; its keys go on without it.",
      input: z.strictObject({ identity: Identity }),
      output: undefined,
      errorsAreProblems: true,
      refusals: [404],
      handle: async (input, call) => {
        demand(call, ofIdentities(call, "delete_identity"));
        await change(call, (made) => deleteIdentity(made, call, input.identity));
        return { data: undefined };
      },
    }),
  };
}
