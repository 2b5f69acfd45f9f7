/** Calls of the addresses of `control` that sign people in and out. */
import type { z } from "zod";
import { ask, type Question, refusalOf } from "#cli/answer.ts";
import { signInPath } from "#control/sign-in/contract.ts";

/** `under`: another address than those that sign in. Throws `ProblemError`, or `ConnectionError`. */
export async function askControl<Schema extends z.ZodType>(
  url: string,
  { under = signInPath, ...question }: Question & { under?: string },
  schema: Schema,
): Promise<z.infer<Schema>> {
  const path = `${under}/${question.path}`;
  const { status, body = null } = await ask(url, { ...question, path });
  if (status >= 300) throw refusalOf(url, { status, body }, "sign_in_unavailable");
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  throw new Error("the answer is not from Vedette: is the address that of control?");
}
