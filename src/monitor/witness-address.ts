/** The addresses of the setting `monitor.witness`. */

export type WitnessAddress = { host: string; port: number };

/** `https://example.com`, `http://example.com`, `tcp://192.0.2.1:443`; undefined: it is no such address. */
export function readWitness(given: string): WitnessAddress | undefined {
  const [, kind = "", authority = ""] = /^(https?|tcp):\/\/([^/?#@\s]+)\/?$/.exec(given) ?? [];
  if (authority === "" || !URL.canParse(`http://${authority}`)) return undefined;
  const { hostname } = new URL(`http://${authority}`);
  const [, port] = /:(\d{1,5})$/.exec(authority) ?? [];
  const number = port === undefined ? presets[kind] : Number(port);
  if (number === undefined || number < 1 || number > 65_535) return undefined;
  return { host: hostname.replace(/^\[(.*)\]$/, "$1"), port: number };
}

const presets: Record<string, number> = { https: 443, http: 80 };
