/** What is done about an invocation that the program of today cannot go on with, besides ending it. */
export type Duty = {
  /**
   * It is called once more with what it was called with. Only for what may come twice: what it wrote
   * down and sent before stays.
   */
  isCalledAgain?: true;
  /** A handler of the same key, called without anything: it makes good what was begun. */
  restoredBy?: string;
};

/**
 * By `<service>/<handler>`. One that is not here is only ended: its caller is told, or it comes again by
 * itself. Whatever is here may also be sent again when its sender is ended before it has begun.
 */
export type Duties = Readonly<Record<string, Duty>>;

/** The duties of a service's handlers. */
export function dutiesOf<Handlers>(
  { name }: { name: string; _handlers: Handlers },
  duties: { readonly [handler in keyof Handlers]?: Duty },
): Duties {
  const entries = Object.entries<Duty>(duties as Record<string, Duty>);
  return Object.fromEntries(entries.map(([handler, duty]) => [`${name}/${handler}`, duty]));
}
