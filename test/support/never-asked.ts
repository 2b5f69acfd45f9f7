/** Stands in for parts that a test needs to be there and never to be used. */
export function neverAsked<Part>(): Part {
  const anything: unknown = new Proxy(() => {}, {
    get: () => anything,
    apply: () => anything,
  });
  return anything as Part;
}
