/** As much of a browser as signing in takes: cookies for each host, redirects, and forms. */

type Page = { url: string; status: number; text: string };

const mostRedirects = 20;

/** `stopAt`: a redirect to an address that begins so is not followed, but answered. */
function openFormBrowser({ stopAt }: { stopAt?: string } = {}) {
  const cookies = new Map<string, string>();

  const send = async (url: string, fields?: Record<string, string>): Promise<Response> => {
    const { origin } = new URL(url);
    const answer = await fetch(url, {
      redirect: "manual",
      headers: { cookie: headerOf(cookies, origin) },
      ...(fields !== undefined && { method: "POST", body: new URLSearchParams(fields) }),
    });
    for (const line of answer.headers.getSetCookie()) keep(cookies, origin, line);
    return answer;
  };

  const follow = async (first: string, fields?: Record<string, string>): Promise<Page> => {
    let url = first;
    let answer = await send(url, fields);
    for (let hop = 0; hop < mostRedirects; hop += 1) {
      const location = answer.headers.get("location");
      if (location === null || answer.status < 300 || answer.status >= 400) break;
      url = new URL(location, url).href;
      if (stopAt !== undefined && url.startsWith(stopAt)) {
        return { url, status: answer.status, text: "" };
      }
      answer = await send(url);
    }
    return { url, status: answer.status, text: await answer.text() };
  };

  return {
    cookies,
    open: (url: string) => follow(url),
    /** Sends the first form of a page, with its hidden fields. */
    submit: ({ url, text }: Page, fields: Record<string, string> = {}) => {
      const action = /<form[^>]* action="([^"]*)"/.exec(text)?.[1] ?? url;
      return follow(new URL(action.replaceAll("&amp;", "&"), url).href, {
        ...hiddenOf(text),
        ...fields,
      });
    },
  };
}

/** A browser that signs in as somebody at the provider's page to which `url` leads. */
export async function signInAs(
  login: string,
  url: string,
  options: { stopAt?: string; answer?: "yes" | "no" } = {},
): Promise<Page> {
  const { answer = "yes", ...rest } = options;
  const browser = openFormBrowser(rest);
  return browser.submit(await browser.open(url), { login, answer });
}

/** Enters a device's code and signs in as somebody. */
export async function enterCode(login: string, url: string): Promise<Page> {
  const browser = openFormBrowser();
  const confirmation = await browser.submit(await browser.open(url));
  const form = await browser.submit(confirmation);
  return browser.submit(form, { login, answer: "yes" });
}

function headerOf(cookies: Map<string, string>, origin: string): string {
  const own = [...cookies].filter(([name]) => name.startsWith(`${origin} `));
  return own.map(([name, value]) => `${name.split(" ")[1]}=${value}`).join("; ");
}

/** Paths are not distinguished: a host has few cookies here. */
function keep(cookies: Map<string, string>, origin: string, line: string): void {
  const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
  const isOver = /max-age=0\b/i.test(line) || /expires=Thu, 01 Jan 1970/i.test(line);
  if (isOver || value === "") cookies.delete(`${origin} ${name}`);
  else cookies.set(`${origin} ${name}`, value);
}

function hiddenOf(text: string): Record<string, string> {
  const inputs = [...text.matchAll(/<input[^>]*>/g)].map(([input]) => input);
  const fields = inputs.flatMap((input): [string, string][] => {
    const name = / name="([^"]*)"/.exec(input)?.[1];
    const value = / value="([^"]*)"/.exec(input)?.[1];
    return name === undefined || value === undefined ? [] : [[name, value]];
  });
  return Object.fromEntries(fields);
}
