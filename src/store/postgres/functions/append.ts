/**
 * SQL function that appends records: each gets the next position on its chain and a link that follows from
 * the previous one. All texts are passed as one block of bytes beside the rest, so that nothing is escaped
 * or parsed. Returns [seq, stored_at, link] per record, in order.
 */
export const APPEND = `
  create function append(w bigint, t bigint, first bigint, p_records record_part[], p_relations relation_part[],
    p_texts bytea, out places json, out ats bigint[])
  language plpgsql as $$
  #variable_conflict use_column
  declare
    b record;
    digest text;
    head record;
    at bigint;
    seqs bigint[] := '{}';
    times bigint[] := '{}';
    links text[] := '{}';
    keys int[] := '{}';
    ords int[] := '{}';
    ids text[] := '{}';
    signatures text[] := '{}';
    starts int[] := '{}';
    lengths int[] := '{}';
  begin
    for b in select branch, min(genesis) as genesis, array_agg(digest order by ord) as digests,
        array_agg(ord order by ord) as ords, array_agg(id order by ord) as ids,
        array_agg(signature order by ord) as signatures, array_agg(at order by ord) as starts,
        array_agg(bytes order by ord) as lengths
      from unnest(p_records) as r
      group by branch order by branch
    loop
      select c.key, c.seq, c.stored_at, c.link into head from chains c
        where c.workspace = w and c.branch = b.branch;
      if not found then
        insert into chains (workspace, key, seq, stored_at, link, branch)
          select w, coalesce(max(c.key), 0) + 1, 0, 0, b.genesis, b.branch
          from chains c where c.workspace = w
          returning key, seq, stored_at, link into head;
      end if;
      -- Times never decrease along a chain, whatever the clock does.
      at := greatest(t, head.stored_at);
      foreach digest in array b.digests loop
        head.seq := head.seq + 1;
        head.link := encode(sha256(convert_to(head.link || E'\\n' || head.seq || E'\\n' || at
          || E'\\n' || digest, 'UTF8')), 'hex');
        seqs := seqs || head.seq;
        links := links || head.link;
        times := times || at;
        keys := keys || head.key;
      end loop;
      ords := ords || b.ords;
      ids := ids || b.ids;
      signatures := signatures || b.signatures;
      starts := starts || b.starts;
      lengths := lengths || b.lengths;
      update chains c set seq = head.seq, stored_at = at, link = head.link
        where c.workspace = w and c.branch = b.branch;
    end loop;

    insert into memories (workspace, pos, chain, seq, stored_at, id, link, signature, text)
      select w, first + u.ord, u.chain, u.seq, u.at, u.id, u.link, u.signature,
        convert_from(substr(p_texts, u.start, u.bytes), 'UTF8')
      from unnest(ords, keys, seqs, times, links, ids, signatures, starts, lengths)
        as u(ord, chain, seq, at, link, id, signature, start, bytes);

    if p_relations is not null then
      insert into relations (workspace, source, n, target, valid_from, valid_until, kind)
        select w, first + e.ord, e.n,
          (select m.pos from memories m where m.workspace = w and m.id = e.target),
          e.valid_from, e.valid_until, e.kind
        from unnest(p_relations) as e;
    end if;

    select json_agg(json_build_array(u.seq, u.at, u.link) order by u.ord),
        array_agg(u.at order by u.ord) into places, ats
      from unnest(ords, seqs, times, links) as u(ord, seq, at, link);
  end $$;
`;
