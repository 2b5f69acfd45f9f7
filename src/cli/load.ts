/** How a command is tied to what it does. */

export type Exit = (code: number) => void;

type Action = (...args: never[]) => Promise<number>;

/** Commands are loaded when they are called: `--help` answers at once. */
export function load(exit: Exit, find: () => Promise<Action>) {
  return async (...args: unknown[]) => {
    // The last argument is the command itself, the one before it the options.
    const given = args.slice(0, -1) as never[];
    exit(await (await find())(...given));
  };
}
