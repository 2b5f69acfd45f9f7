import { object } from "@restatedev/restate-sdk";

/** Counts for each key; `add` returns the sum. */
export const counter = object({
  name: "counter",
  handlers: {
    add: async (ctx, amount) => {
      const sum = ((await ctx.get("sum")) ?? 0) + amount;
      ctx.set("sum", sum);
      return sum;
    },
  },
});
