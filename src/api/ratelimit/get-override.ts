import { z } from "zod";
import { tuple } from "#api/access/grants.ts";
import { procedure } from "#api/procedure.ts";
import {
  describeOverride,
  exampleOverride,
  OverrideOutput,
  overrideNotFound,
  overrideTarget,
} from "./overrides.ts";
import type { RatelimitParts } from "./parts.ts";

export function getOverride({ namespaces }: RatelimitParts) {
  return procedure({
    summary: "Shows the override that applies to an identifier.",
    input: z.strictObject(overrideTarget),
    output: OverrideOutput,
    example: { body: { namespace: "emails", identifier: "user_42" }, data: exampleOverride },
    refusals: [404],
    handle: async (input, call) => {
      const namespace = await namespaces.require(call, input.namespace);
      const urn = `unkey:v1:${call.workspaceId}:ratelimit/namespaces/${namespace.id}#read_override`;
      const mayRead =
        call.grants.allow(tuple("ratelimit", namespace.id, "read_override")) ||
        call.grants.allow(urn);
      const override = namespace.findOverride(input.identifier);
      // An override that the caller may not read is answered like one that does not exist.
      if (override === undefined || !mayRead) throw overrideNotFound();
      return { data: describeOverride(override) };
    },
  });
}
