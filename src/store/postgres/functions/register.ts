/**
 * SQL function that registers an agent: one row per agent, and each name belongs to one agent. Records of the
 * change are appended with it; their author may be the agent itself, as it is after the change. The digest
 * covers two values that only the store knows (when the key was set, and the revision), so the hub sends the
 * text before and after them.
 */

import { CLOSED_BRANCH } from "../../store.ts";
import { KEYS_BRANCH } from "../../verify/key-history.ts";

/** SQL that creates `register`. */
export const REGISTER = `
  create function register(p_workspace text, p_now bigint, p_agent json, p_based_on int,
    p_records record_part[], p_text bytea)
    returns json
  language plpgsql as $$
  #variable_conflict use_column
  declare
    here record;
    a record;
    current agents;
    taken record;
    keyed bigint;
    at bigint;
    digest text;
    r record;
    fault text;
  begin
    select * into here from enter(p_workspace, p_now);
    select * into a from json_to_record(p_agent) as x(id text, status text, role text,
      aliases text, names text[], "publicKey" text, profile text, "before" text, "between" text);
    select n.name, n.agent into taken from unnest(a.names) with ordinality as u(name, n)
      join agent_names n on n.workspace = here.w and n.name = u.name
      where n.agent <> a.id order by u.n limit 1;
    if found then
      return json_build_object('kind', 'name_taken', 'name', taken.name, 'by', taken.agent);
    end if;
    select * into current from agents x where x.workspace = here.w and x.id = a.id;
    if coalesce(current.revision, 0) <> p_based_on then
      return json_build_object('kind', 'changed');
    end if;
    for r in select * from unnest(p_records) as x loop
      fault := case when r.branch = '${KEYS_BRANCH}' then null
        when r.agent <> a.id then author_fault(here.w, r.agent, r.key)
        when a.status = 'disabled' then 'agent_disabled'
        when a."publicKey" <> r.key then 'key_changed' end;
      if fault is not null then
        return json_build_object('kind', fault, 'agent', r.agent);
      end if;
      if (select m.pos from memories m where m.workspace = here.w and m.id = r.id) is not null then
        return json_build_object('kind', 'id_taken', 'id', r.id);
      end if;
      if (select e.revision from entries e where e.workspace = here.w
          and e.kind = '${CLOSED_BRANCH}' and e.name = r.branch) is not null then
        return json_build_object('kind', 'branch_closed', 'branch', r.branch);
      end if;
    end loop;
    -- Not before any existing record, even if the clock went back: those were written without the key.
    at := greatest(here.t, (select max(stored_at) from chains where workspace = here.w));
    keyed := case when a."publicKey" = coalesce(current.public_key, '')
      then coalesce(current.keyed_at, 0) else at end;
    digest := encode(sha256(convert_to(a."before" || keyed || a."between" || (p_based_on + 1) || ']',
      'UTF8')), 'hex');
    insert into agents (workspace, id, revision, keyed_at, status, role, aliases, public_key,
        profile, digest)
      values (here.w, a.id, p_based_on + 1, keyed, a.status, a.role, a.aliases, a."publicKey",
        a.profile, digest)
      on conflict (workspace, id) do update set revision = excluded.revision,
        keyed_at = excluded.keyed_at, status = excluded.status, role = excluded.role,
        aliases = excluded.aliases, public_key = excluded.public_key,
        profile = excluded.profile, digest = excluded.digest;
    delete from agent_names n where n.workspace = here.w and n.agent = a.id;
    insert into agent_names (workspace, name, agent)
      select here.w, u.name, a.id from unnest(a.names) as u(name);
    if p_records is not null then
      perform append(here.w, at, here.pos, p_records, null, p_text);
      update workspaces set position = here.pos + cardinality(p_records) where key = here.w;
    end if;
    return json_build_object('kind', 'registered', 'keyedAt', keyed, 'digest', digest);
  end $$;
`;
