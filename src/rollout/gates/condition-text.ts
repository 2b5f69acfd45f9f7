/** A condition on a number, as text: `< 0.01`. */
import { z } from "zod";

const pattern = /^\s*(<=|>=|<|>|==|!=)\s*([-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?)\s*$/i;

export const ConditionText = z.string().max(50).regex(pattern, {
  error: 'must be a comparison with a number, for example "< 0.01" (<, <=, >, >=, ==, !=)',
});

const comparisons: Record<string, (value: number, limit: number) => boolean> = {
  "<": (value, limit) => value < limit,
  "<=": (value, limit) => value <= limit,
  ">": (value, limit) => value > limit,
  ">=": (value, limit) => value >= limit,
  "==": (value, limit) => value === limit,
  "!=": (value, limit) => value !== limit,
};

/** True if the number meets the condition; NaN meets none. */
export function compare(value: number, condition: string): boolean {
  const [, sign = "", limit = ""] = pattern.exec(condition) ?? [];
  return !Number.isNaN(value) && comparisons[sign]?.(value, Number(limit)) === true;
}
