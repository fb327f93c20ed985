/**
 * SQL functions that write entries. That each entry is unchanged since its writer read it was checked before
 * (refuse). Its digest covers nothing that only the store knows, so the hub computes it.
 */
export const ENTRIES = `
  -- Writes or deletes entries, with their events.
  create function put(w bigint, t bigint, inout ev bigint, p_puts put_part[])
  language plpgsql as $$
  #variable_conflict use_column
  declare
    p record;
  begin
    for p in select * from unnest(p_puts) as p
    loop
      if p.value is null then
        delete from entries e where e.workspace = w and e.kind = p.kind and e.name = p.name;
      else
        insert into entries (workspace, kind, name, revision, at, value, digest)
          values (w, p.kind, p.name, p.based_on + 1, t, p.value, p.digest)
          on conflict (workspace, kind, name) do update set revision = excluded.revision,
            at = excluded.at, value = excluded.value, digest = excluded.digest;
      end if;
      if p.event is not null then
        ev := ev + 1;
        insert into events (workspace, number, at, attempt, kind, agent, task, delivery, envelope)
          values (w, ev, t, 0, p.event, p.agent, '', '', '');
      end if;
    end loop;
  end $$;

  -- Returns whether there is any breaker. Most workspaces have none: one lookup for a whole group.
  create function has_breakers(w bigint) returns boolean
  language plpgsql stable as $$
  begin
    return exists (select from entries e where e.workspace = w and e.kind = 'breaker');
  end $$;

  -- Closes the breakers of receivers that completed something: they can take work again.
  create function close_breakers(w bigint, p_settles settle_part[]) returns void
  language plpgsql as $$
  #variable_conflict use_column
  begin
    delete from entries e where e.workspace = w and e.kind = 'breaker'
      and e.name = any (array(select (select d.receiver from deliveries d
          where d.workspace = w and d.id = s.delivery)
        from unnest(p_settles) as s where s.outcome = 'completed'));
  end $$;
`;
