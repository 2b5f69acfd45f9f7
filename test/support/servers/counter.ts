import { type ObjectContext, object } from "@restatedev/restate-sdk";
import { requestRestate } from "#kernel/restate.ts";

/** Its state is one number: what any change of an object's state takes. */
export const counter = object({
  name: "Counter",
  handlers: {
    add: async (ctx: ObjectContext) => {
      const count = ((await ctx.get<number>("count")) ?? 0) + 1;
      ctx.set("count", count);
      return count;
    },
  },
  options: { journalRetention: 0 },
});

/** Counts on, straight at Restate's ingress, and returns the count. */
export async function countOn(ingressUrl: string): Promise<unknown> {
  const answer = await requestRestate(`${ingressUrl}/Counter/one/add`, {
    method: "POST",
    headersTimeout: 20_000,
  });
  return answer.body.json();
}
