/** What each access level allows, and how other calls are refused. */
import { describe, expect, it } from "vitest";
import { type Access, hasAccess } from "../../src/access/levels.ts";
import { requireAccess, requireActAs, unauthenticated } from "../../src/access/refusals.ts";
import { ACCESS_LEVELS, ERROR_CODES } from "../../src/index.ts";
import { refusal } from "../support/hub/support.ts";

const attempt = async (act: () => void): Promise<void> => act();

describe("access levels", () => {
  it("include all lower levels and no higher one; an unknown level allows nothing [OPS-5]", async () => {
    for (const [has, access] of ACCESS_LEVELS.entries()) {
      for (const [needs, needed] of ACCESS_LEVELS.entries()) {
        expect(hasAccess(access, needed), `${access} ${needed}`).toBe(has >= needs);
        if (has >= needs) requireAccess({ access }, needed);
        else {
          const refused = await refusal(attempt(() => requireAccess({ access }, needed)));
          const details = { has: access, needs: needed };
          expect(refused).toMatchObject({ code: "forbidden", details });
        }
      }
    }
    expect(hasAccess("owner" as Access, "reader")).toBe(false);
  });
});

describe("a token's bearer", () => {
  it("may act as the token's agent, or as any agent with *, and never as the hub [OPS-5]", async () => {
    requireActAs({ agent: "ada" }, "ada");
    requireActAs({ agent: "*" }, "ada");
    for (const [agent, as] of [
      ["ada", "ben"],
      ["ada", "*"],
      ["ada", "baton"],
      ["*", "baton"],
    ] as const) {
      const refused = await refusal(attempt(() => requireActAs({ agent }, as)));
      expect(refused, `${agent} as ${as}`).toMatchObject({ code: "forbidden", path: "agent" });
    }
  });

  it("is refused with a distinct message for each reason [OPS-5]", () => {
    const whys = ["missing", "malformed", "unknown", "expired", "revoked", "disabled"] as const;
    const errors = whys.map((why) => unauthenticated(why));
    expect(new Set(errors.map(({ message }) => message)).size).toBe(whys.length);
    for (const error of errors) {
      expect(error.code).toBe("unauthenticated");
      expect(error.hint).toMatch(/\.$/);
    }
    expect(ERROR_CODES.unauthenticated).toMatchObject({ http: 401, exit: 77, retryable: false });
    expect(ERROR_CODES.forbidden).toMatchObject({ http: 403, exit: 77, retryable: false });
    expect(ERROR_CODES.rate_limited).toMatchObject({ http: 429, exit: 75, retryable: true });
  });
});
