/** The path of a request, without its query: what rules, routes and logs go by. */
export function pathOf({ url = "" }: { url?: string | undefined }): string {
  return url.split("?", 1)[0] ?? "";
}
