/** The context of a handler that is killed at any of its steps. */
import type { ObjectContext } from "@restatedev/restate-sdk";

export class Killed extends Error {}

type Send = { handler: string; request: unknown };

/** `answers`: of other objects, by handler. */
type Given = { answers?: Record<string, (request: never) => unknown>; uuid?: string };

/** State like Restate's, in which whatever runs is killed before its step number `lives`. */
export function createContext(
  state: Map<string, unknown>,
  lives: number,
  { answers = {}, uuid = "r-2" }: Given = {},
) {
  let steps = 0;
  const signals = new Map<string, unknown>();
  /** The signals in their order, each with the invocation that gets it. */
  const told: string[] = [];
  const step = <Result>(act: () => Result): Result => {
    steps += 1;
    if (steps > lives) throw new Killed();
    return act();
  };
  const sent: Send[] = [];
  const sending = new Proxy(
    {},
    {
      get: (_, handler) => (request: unknown) => {
        sent.push({ handler: String(handler), request });
        return { invocationId: Promise.resolve("inv_2") };
      },
    },
  );
  const calling = new Proxy(
    {},
    {
      get: (_, handler) => async (request: never) =>
        step(() => answers[String(handler)]?.(request)),
    },
  );
  const ctx = {
    key: "singleton",
    get: async (key: string) => structuredClone(step(() => state.get(key) ?? null)),
    set: (key: string, value: unknown) => step(() => state.set(key, structuredClone(value))),
    clear: (key: string) => step(() => state.delete(key)),
    rand: { uuidv4: () => uuid },
    date: { now: async () => step(() => 1_800_000_000_000) },
    run: async (_: string, read: () => unknown) => step(read),
    console: { info: () => {}, warn: () => {} },
    sendClient: () => step(() => sending),
    client: () => calling,
    request: () => ({ headers: new Map() }),
    invocation: (id: string) => ({
      signal: (name: string) => ({
        resolve: (value: unknown) =>
          step(() => {
            signals.set(name, value);
            told.push(`${name} ${id}`);
          }),
      }),
    }),
  };
  return { ctx: ctx as unknown as ObjectContext, signals, told, sent, steps: () => steps };
}
