/**
 * Durable services run their tests twice: as usual, and with every step replayed from the journal, which
 * finds handlers that are not deterministic. The latter is a project of its own, since it takes as long.
 */
export const modes =
  process.env["TEST_REPLAY"] === "always"
    ? [{ mode: "with every step replayed", alwaysReplay: true }]
    : [{ mode: "as usual", alwaysReplay: false }];
