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
    assign: async (account, name) => {
      for (const [key, held] of names) if (held === name) names.delete(key);
      names.set(keyOf(account), name);
    },
    holder: async (issuer, name) => {
      const held = [...names].find(([key, one]) => one === name && JSON.parse(key)[0] === issuer);
      return held === undefined ? undefined : JSON.parse(held[0])[1];
    },
  };
}
