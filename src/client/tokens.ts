/** The tokens of a workspace, over HTTP. Who asks is known to the hub from the token it is asked with. */
import type { IssuedToken, TokenInfo, TokenInput, Tokens } from "../access/tokens.ts";
import type { Wire } from "./wire.ts";

export class RemoteTokens implements Tokens {
  readonly #wire: Wire;

  constructor(wire: Wire) {
    this.#wire = wire;
  }

  add(token: TokenInput): Promise<IssuedToken> {
    return this.#wire.call("addToken", token);
  }

  list(): Promise<readonly TokenInfo[]> {
    return this.#wire.call("listTokens", {});
  }

  revoke(id: string, reason?: string): Promise<TokenInfo> {
    return this.#wire.call("revokeToken", { id, reason });
  }
}
