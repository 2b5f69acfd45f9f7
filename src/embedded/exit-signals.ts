/**
 * Servers that the program leaves behind when it ends without having stopped them: at the second signal, or
 * by a fault of its own. They are asked to end, and do so by themselves.
 */
const asks = new Set<() => void>();

process.on("exit", () => {
  for (const ask of asks) ask();
});

/** `ask` is called, and not waited for, when the program ends before the answer is called. */
export function askAtExit(ask: () => void): () => void {
  asks.add(ask);
  return () => asks.delete(ask);
}
