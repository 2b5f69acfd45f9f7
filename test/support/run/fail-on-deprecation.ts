/** Ends a run as failed when something deprecated is used, with the warning as the reason. */
const isListening = Symbol.for("vedette.test.failOnDeprecation");
const state = globalThis as { [isListening]?: true };

if (state[isListening] === undefined) {
  state[isListening] = true;
  process.on("warning", (warning) => {
    if (warning.name === "DeprecationWarning") throw warning;
  });
}
