/**
 * SQL functions that write a group of operations of one hub in one workspace: a single call, a single
 * transaction, and no round trip while the workspace is locked.
 *
 * Every write to a workspace happens under its lock, so everything a check sees stays true until the commit:
 * chains have no gaps, event numbers increase in the order in which events become visible, and no other write
 * happens in between. The lock is an advisory lock, which leaves no trace: a claim that finds nothing writes
 * nothing and syncs nothing.
 */
import { PART_ARGUMENTS } from "../parts.ts";

/** SQL that creates `enter`, `sync`, `flushed`, `write` and `doubt`. */
export const WRITE = `
  -- Locks the workspace and creates it if necessary. Returns its key, the time and its counters.
  create function enter(p_workspace text, p_now bigint, out w bigint, out t bigint,
    out pos bigint, out ev bigint)
  language plpgsql as $$
  #variable_conflict use_column
  begin
    -- An acknowledged write is durable, whatever the database's configuration.
    if current_setting('synchronous_commit') = 'off' then
      perform set_config('synchronous_commit', 'on', true);
    end if;
    perform pg_advisory_xact_lock(hashtextextended(current_schema() || ' ' || p_workspace, 0));
    select key, position, event into w, pos, ev from workspaces where name = p_workspace;
    if not found then
      insert into workspaces (name) values (p_workspace)
        returning key, position, event into w, pos, ev;
    end if;
    t := coalesce(p_now, (extract(epoch from clock_timestamp()) * 1000)::bigint);
  end $$;

  -- Waits until everything up to here is on disk. A group commits without waiting for the disk, so that
  -- the next group gets the lock at once, and is acknowledged after this function returns.
  create function sync() returns void
  language plpgsql as $$
  begin
    if current_setting('baton.unsynced', true) = 'yes' then
      perform set_config('baton.unsynced', '', false);
      if current_setting('synchronous_commit') = 'off' then
        perform set_config('synchronous_commit', 'on', true);
      end if;
      -- A commit waits for the disk only if the transaction has written something.
      perform pg_logical_emit_message(true, 'baton', '');
    end if;
  end $$;

  -- Waits until everything that can be read is on disk: other transactions may have committed without
  -- waiting. A statement that calls this returns only durable rows; after a crash, the hub reads again.
  create function flushed() returns void
  language plpgsql as $$
  begin
    if pg_is_in_recovery() or current_setting('transaction_read_only') = 'on'
      or pg_current_wal_insert_lsn() <= pg_current_wal_flush_lsn() then
      return;
    end if;
    perform set_config('synchronous_commit', 'on', true);
    perform pg_logical_emit_message(true, 'baton', '');
  end $$;

  -- Writes a group: checks all operations, then carries out each part, or returns why it is refused.
  create function write(p_workspace text, p_now bigint, p_writer uuid, p_token bigint,
    p_careful boolean, p_later boolean, p_mature boolean, p_due boolean, p_texts bytea,
    ${PART_ARGUMENTS}) returns json
  language plpgsql as $$
  #variable_conflict use_column
  declare
    w bigint;
    t bigint;
    first bigint;
    pos bigint;
    began bigint;
    ev bigint;
    refused json;
    places json;
    ats bigint[];
    settled json;
    sent json;
    accepted json;
    taken json;
    renewed json;
    moved json;
    claimed json;
    kept json;
    due bigint;
    rung text[];
    wakes text[] := '{}';
  begin
    select e.w, e.t, e.pos, e.ev into w, t, first, began from enter(p_workspace, p_now) e;
    if p_later then
      perform set_config('synchronous_commit', 'off', true);
    end if;
    if p_moves is not null then
      refused := refuse_moves(w, p_moves);
    end if;
    if refused is null then
      refused := refuse(w, t, p_careful, p_holds, p_records, p_mentions, p_envelopes, p_posts,
        p_parents, p_puts, p_tips, p_takes, p_authors);
    end if;
    if refused is not null then
      return json_build_object('refused', refused);
    end if;

    pos := first;
    ev := began;
    if p_records is not null then
      select x.places, x.ats into places, ats
        from append(w, t, first, p_records, p_relations, p_texts) x;
      pos := pos + cardinality(p_records);
    end if;
    if p_puts is not null then
      ev := put(w, t, ev, p_puts);
    end if;
    if p_settles is not null then
      select x.ev, x.settled, x.wakes into ev, settled, rung
        from settle(w, t, ats, ev, p_settles) x;
      wakes := wakes || rung;
    end if;
    if p_envelopes is not null then
      select x.ev, x.sent, x.wakes into ev, sent, rung
        from deliver(w, t, first, ats, ev, p_envelopes, p_posts, p_texts) x;
      wakes := wakes || rung;
    end if;
    if p_accepts is not null then
      select x.ev, x.accepted, x.wakes into ev, accepted, rung
        from accept(w, t, ats, ev, p_accepts) x;
      wakes := wakes || rung;
    end if;
    if p_takes is not null then
      select x.ev, x.taken, x.wakes into ev, taken, rung from take(w, t, ats, ev, p_takes) x;
      wakes := wakes || rung;
    end if;
    if p_renews is not null then
      renewed := renew(w, t, p_renews);
    end if;
    if p_sessions is not null then
      perform renew_sessions(w, t, p_sessions);
    end if;
    if p_moves is not null then
      select x.ev, x.moved, x.wakes into ev, moved, rung from move(w, t, pos, ats, ev, p_moves) x;
      wakes := wakes || rung;
    end if;
    if p_mature then
      perform mature(w, t);
    end if;
    if p_claims is not null then
      select x.ev, x.claimed, x.kept into ev, claimed, kept from claim(w, t, ev, p_claims) x;
    end if;
    if p_due then
      due := next_due(w, t);
    end if;

    if p_puts is not null and kept is null then
      kept := to_json(t); -- The entry may have changed again when the hub asks for this time.
    end if;
    if pos <> first or ev <> began or p_puts is not null then
      update workspaces x set position = pos, event = ev where x.key = w;
      insert into writers (id, written, at, claimed) values (p_writer, p_token, now(), kept)
        on conflict (id) do update set written = excluded.written, at = excluded.at,
          claimed = excluded.claimed
        where writers.fenced < excluded.written;
      if not found then
        raise exception 'the hub has given up this write';
      end if;
      if p_later then
        perform set_config('baton.unsynced', 'yes', false);
      end if;
    end if;
    return json_build_object('at', t, 'places', places, 'settled', settled, 'sent', sent,
      'accepted', accepted, 'taken', taken, 'renewed', renewed, 'moved', moved, 'claimed', claimed,
      'due', due, 'wakes', (select json_agg(distinct x) from unnest(wakes) as x));
  end $$;

  -- Returns whether a write whose response was lost has been committed. If not, it is fenced and never
  -- will be, even if it is still in flight or waits for the workspace's lock: the hub writes it again.
  create function doubt(p_writer uuid, p_token bigint, out written bigint, out claimed json)
  language plpgsql as $$
  #variable_conflict use_column
  begin
    -- The hub acknowledges the result next, so this commit has to wait for the disk.
    if current_setting('synchronous_commit') = 'off' then
      perform set_config('synchronous_commit', 'on', true);
    end if;
    insert into writers (id, written, at) values (p_writer, 0, now()) on conflict do nothing;
    update writers set fenced = p_token, at = now() where id = p_writer;
    select x.written, x.claimed into written, claimed from writers x where x.id = p_writer;
  end $$;
`;
