/** What a list shows that is behind: routes as they were some time ago. */

type Item = { id: string; content: Record<string, unknown> };
type Shown = { id: string; name: unknown; enabled: unknown };

export type Lag = {
  /** By how much the list is behind. */
  lagMs: number;
  now: () => number;
};

/** Routes by id, and what their list has said at any time. */
export function createListedRoutes<Stored extends Item>(lag: Lag) {
  const history: { atMs: number; shown: Shown[] }[] = [];

  class ListedRoutes extends Map<string, Stored> {
    override set(id: string, stored: Stored): this {
      super.set(id, stored);
      this.noteChange();
      return this;
    }

    override delete(id: string): boolean {
      const isGone = super.delete(id);
      this.noteChange();
      return isGone;
    }

    /** To be called when one was changed in its place. */
    noteChange(): void {
      const shown = [...this.values()].map(({ id, content }) => ({
        id,
        name: content["name"],
        enabled: content["enabled"],
      }));
      history.push({ atMs: lag.now(), shown });
    }

    listed(): Shown[] {
      const untilMs = lag.now() - lag.lagMs;
      return history.findLast(({ atMs }) => atMs <= untilMs)?.shown ?? [];
    }
  }

  return new ListedRoutes();
}
