/** Cleanup for an invocation that was ended because this version cannot continue it. */
export type Duty = {
  /**
   * The handler is called once more with the same argument. Only for handlers that may run twice: what the
   * first call stored and sent is not undone.
   */
  isCalledAgain?: true;
  /** A handler of the same key, called without an argument: it repairs what was left incomplete. */
  restoredBy?: string;
};

/**
 * By `<service>/<handler>`. An invocation of a handler without a duty is only ended: its caller gets an
 * error, or something calls it again anyway. A call of a handler with a duty may also be repeated when the
 * invocation that sent it is ended before the call has started.
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
