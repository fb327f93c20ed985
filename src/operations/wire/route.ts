import type { Method, Route } from "../operation.ts";

/** Returns the method and the path of a route. */
export const routeOf = ({ route }: { readonly route: Route }): [method: Method, path: string] =>
  route.split(" ") as [Method, string];
