/** `vedette operators add`: a token for a person or a program, and the setting that lets it in. */
import { OperatorName } from "#control/contract.ts";
import { roles as everyRole, type Role } from "#kernel/roles.ts";
import { complain, print, printJson } from "./print.ts";
import { makeToken } from "./token.ts";

type Options = { roles?: Role[]; json: boolean };

/** Prints the token once, to stdout only. The settings have its hash. */
export async function addOperator(name: string, options: Options): Promise<number> {
  requireName(name);
  const { roles = [...everyRole], json } = options;
  const { token, hash } = makeToken();
  if (json) {
    printJson({ name, token, token_hash: `sha256:${hash}`, roles });
    return 0;
  }
  print(token);
  complain(settingOf(name, { hash, roles }));
  return 0;
}

function requireName(name: string): void {
  const [fault] = OperatorName.safeParse(name).error?.issues ?? [];
  if (fault !== undefined) throw new Error(`${name} ${fault.message}`);
}

function settingOf(
  name: string,
  { hash, roles }: { hash: string; roles: readonly Role[] },
): string {
  const list = roles.map((role) => `"${role}"`).join(", ");
  return [
    "The token is not shown again. Add this to vedette.toml, below [control.operators], and start control again:",
    `"${name}" = { token = "sha256:${hash}", roles = [${list}] }`,
  ].join("\n");
}
