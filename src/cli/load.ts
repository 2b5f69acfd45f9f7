/** Connects a command to its implementation. */

export type Exit = (code: number) => void;

type Action = (...args: never[]) => Promise<number>;

/** Loads the implementation only when the command is called, so that `--help` is fast. */
export function load(exit: Exit, find: () => Promise<Action>) {
  return async (...args: unknown[]) => {
    // The last argument is the command itself, the one before it the options.
    const given = args.slice(0, -1) as never[];
    exit(await (await find())(...given));
  };
}
