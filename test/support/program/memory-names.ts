import type { Account, Names } from "#control/sign-in/names.ts";

/** The names of accounts, as Postgres keeps them, without it. */
export function createMemoryNames(): Names {
  const names = new Map<string, string>();
  const keyOf = ({ issuer, subject }: Account) => JSON.stringify([issuer, subject]);
  return {
    find: async (account) => names.get(keyOf(account)),
    take: async (account, name) => {
      const held = names.get(keyOf(account));
      if (held !== undefined) return held;
      if ([...names.values()].includes(name)) return undefined;
      names.set(keyOf(account), name);
      return name;
    },
    assign: async (account, name) => void names.set(keyOf(account), name),
  };
}
