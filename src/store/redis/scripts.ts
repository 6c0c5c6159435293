import { createHash } from 'node:crypto'
import { FORMAT } from '../../domain/format.ts'
import { TIMES_WHAT_IS_LEFT } from '../../domain/limit-window.ts'

/*
 * The scripts that run inside Redis. The scripts are content-addressed (EVALSHA), so two versions of the gateway can
 * run side by side in a rolling upgrade. With `#!lua` (Redis 7.0), the server may refuse a script before it runs, but
 * never stops the script halfway. The server refuses a script when it is out of memory, read-only or without its
 * replicas. Numbers in Lua are doubles, as in JavaScript, so amounts are integers below 2^53.
 */
export interface Script {
  readonly source: string
  readonly sha: string
}

/**
 * The first line of a script. A script that only reads also runs on a server that is out of memory or lacks replicas.
 */
const WRITES = '#!lua'
const READS = '#!lua flags=no-writes'

/**
 * The start of every script that needs the epoch. The epoch is the partition's generation (changed by a restore) and
 * the replication id of the server. Redis draws a new id when a replica is promoted and when a primary starts. The
 * epoch therefore changes whenever commits may have been lost (S19).
 */
const PRELUDE = `
local call, num = redis.call, tonumber
local function epoch(head)
  return (call('HGET', head, 'g') or '') .. '.' .. string.match(call('INFO', 'replication'), 'master_replid:(%x+)')
end
`

/**
 * One commit (S01, S03, S06, S08, S10, S14, S15, S17, S18, S19, S21, S22). All guards are checked before the first
 * write. The time is the server's, but never before the partition's latest time (S12). The script defines rarely used
 * functions only on demand. Redis runs the whole text each time, and defining a function costs more than calling it.
 *
 * - KEYS: 1 head, 2 events, then the keys that the parts name by position.
 * - ARGV: 1 deadline in ms by the server's clock, 2 commit id, 3 commit id as a member.
 * - ARGV: 4 '1' to return the epoch, 5 the partition's channel, 6 number of guards, 7 number of events.
 * - ARGV: 8 the time when it is not the server's, else ''.
 * - ARGV: then the guards, then the events and writes, each a letter and its arguments.
 *
 * Guards, writes and events:
 *
 *     r key revision | w key line (the first of the record, with its end) | e epoch
 *     l key windowMs amount atMost | s key windowMs amount atMost shareKey
 *     p key channel body | d key channel | i key score member | x key member | m key
 *     c key windowMs at amount guarded('1'|'0')
 *     e body | o key disclosures (of the event before) | f key number | t key before
 *
 * If a message cannot be published, only the message is lost; the commit remains. Callers re-read.
 *
 * Returns one of these; positions start at 0:
 *
 *     {'late'}
 *     {'format', the mark of the head or ''}
 *     {'guard', position...}
 *     {'ok', first number or 0, epoch or ''}
 *
 * The code duplicates the ring logic of src/domain/limit-window.ts. test/store/redis/window.test.ts compares the two.
 */
const COMMIT = `${WRITES}${PRELUDE}
local function int(x) return string.format('%.0f', x) end
local head = KEYS[1]
local seen = call('HMGET', head, 't', 'n', 'v')
if seen[1] and seen[3] ~= '${FORMAT}' then return {'format', seen[3] or ''} end
local now = num(ARGV[8])
if now == nil then
  local t = call('TIME')
  now = t[1] * 1000 + math.floor(t[2] / 1000)
end
now = math.max(now, num(seen[1] or '0'))
if now > num(ARGV[1]) then return {'late'} end
local cid = ARGV[2]

local revisions = {}
local function revision(k)
  local known = revisions[k]
  if known == nil then
    known = string.match(call('GETRANGE', KEYS[k], 0, 17), '^(%d+) ') or '0'
    revisions[k] = known
  end
  return known
end

local limits
local function newLimits()
  local LARGEST, windows = 9007199254740991, {}
  local function window(k)
    local w = windows[k]
    if w == nil then
      w = { buckets = {} }
      local text, bucket = call('GET', KEYS[k]), nil
      if text then
        for part in string.gmatch(text, '%S+') do
          if w.width == nil then w.width = num(part)
          elseif bucket == nil then bucket = num(part)
          else w.buckets[bucket] = num(part) bucket = nil end
        end
      end
      windows[k] = w
    end
    return w
  end
  local function widthOf(ms) return math.ceil(ms / 24) end
  local function oldest(width, ms) return math.floor((now - ms) / width) end
  local function fitted(w, ms)
    local width = widthOf(ms)
    if w.width == nil or w.width == width then return width, w.buckets end
    local poured = {}
    for bucket, amount in pairs(w.buckets) do
      local last = math.floor(((bucket + 1) * w.width - 1) / width)
      poured[last] = math.min((poured[last] or 0) + amount, LARGEST)
    end
    return width, poured
  end
  local made = {}
  function made.held(k, ms)
    local width, buckets = fitted(window(k), ms)
    local from, sum = oldest(width, ms), 0
    for bucket, amount in pairs(buckets) do if bucket >= from then sum = sum + amount end end
    return math.min(sum, LARGEST)
  end
  function made.charge(k, ms, at, amount, guarded)
    local w = window(k)
    if not guarded and w.width then ms = math.max(ms, w.width * 24) end
    local width, buckets = fitted(w, ms)
    local from, kept = oldest(width, ms), {}
    for bucket, sum in pairs(buckets) do if bucket >= from then kept[bucket] = sum end end
    local bucket = math.floor(at / width)
    if bucket >= from then
      local sum = math.min((kept[bucket] or 0) + amount, LARGEST)
      if sum > 0 then kept[bucket] = sum else kept[bucket] = nil end
    end
    windows[k] = { width = width, buckets = kept, changed = true }
    if next(kept) == nil then windows[k].width = nil end
  end
  function made.write()
    for k, w in pairs(windows) do
      if w.changed then
        if w.width == nil then call('DEL', KEYS[k])
        else
          local text = { int(w.width) }
          for bucket, amount in pairs(w.buckets) do
            text[#text + 1] = int(bucket)
            text[#text + 1] = int(amount)
          end
          call('SET', KEYS[k], table.concat(text, ' '))
        end
      end
    end
  end
  return made
end

local i, failed = 9, {}
for g = 1, num(ARGV[6]) do
  local op, k, holds = ARGV[i], num(ARGV[i + 1]), nil
  if op == 'r' then
    holds = revision(k) == ARGV[i + 2]
    i = i + 3
  elseif op == 'w' then
    holds = call('GETRANGE', KEYS[k], 0, #ARGV[i + 2] - 1) == ARGV[i + 2]
    if holds then revisions[k] = string.match(ARGV[i + 2], '^%d+') end
    i = i + 3
  elseif op == 'l' then
    limits = limits or newLimits()
    holds = limits.held(k, num(ARGV[i + 2])) <= num(ARGV[i + 4]) - num(ARGV[i + 3])
    i = i + 5
  elseif op == 's' then
    limits = limits or newLimits()
    local ms, amount = num(ARGV[i + 2]), num(ARGV[i + 3])
    local left = num(ARGV[i + 4]) - amount - limits.held(k, ms)
    holds = left >= 0 and limits.held(num(ARGV[i + 5]), ms) + amount <= ${TIMES_WHAT_IS_LEFT} * left
    i = i + 6
  elseif op == 'e' then
    holds = epoch(head) == ARGV[i + 1]
    i = i + 2
  else return redis.error_reply('UNKNOWN guard') end
  if not holds then failed[#failed + 1] = g - 1 end
end
if #failed > 0 then
  table.insert(failed, 1, 'guard')
  return failed
end

local first, last, events = 0, 0, num(ARGV[7])
if events > 0 then
  last = num(seen[2] or '0')
  first = last + 1
end
while ARGV[i] do
  local op = ARGV[i]
  if op == 'e' then
    last = last + 1
    call('XADD', KEYS[2], int(last) .. '-0', 'c', cid, 'b', ARGV[i + 1])
    i = i + 2
  else
    local k = num(ARGV[i + 1])
    local key = KEYS[k]
    if op == 'p' then
      local next = int(num(revision(k)) + 1)
      revisions[k] = next
      call('SET', key, next .. ' ' .. cid .. '\\n' .. ARGV[i + 3])
      redis.pcall('SPUBLISH', ARGV[i + 2], '')
      i = i + 4
    elseif op == 'd' then
      revisions[k] = '0'
      call('DEL', key)
      redis.pcall('SPUBLISH', ARGV[i + 2], '')
      i = i + 3
    elseif op == 'i' then
      call('ZADD', key, ARGV[i + 2], ARGV[i + 3])
      i = i + 4
    elseif op == 'x' then
      call('ZREM', key, ARGV[i + 2])
      i = i + 3
    elseif op == 'b' then
      for _, member in ipairs(call('ZRANGE', key, '-inf', ARGV[i + 2], 'BYSCORE')) do call('ZREM', key, member) end
      i = i + 3
    elseif op == 'o' then
      call('XADD', key, int(last) .. '-0', 'd', ARGV[i + 2])
      i = i + 3
    elseif op == 'f' then
      call('XDEL', key, ARGV[i + 2] .. '-0')
      i = i + 3
    elseif op == 't' then
      local newest = last > 0 and last or num(seen[2] or '0')
      local first = math.min(num(ARGV[i + 2]), newest)
      if first > num(call('HGET', head, 'f') or '1') then
        call('XTRIM', key, 'MINID', int(first) .. '-0')
        call('HSET', head, 'f', int(first))
      end
      i = i + 3
    elseif op == 'm' then
      if events > 0 then call('ZADD', key, int(first), ARGV[3]) end
      i = i + 2
    elseif op == 'c' then
      limits = limits or newLimits()
      limits.charge(k, num(ARGV[i + 2]), num(ARGV[i + 3]), num(ARGV[i + 4]), ARGV[i + 5] == '1')
      i = i + 6
    else return redis.error_reply('UNKNOWN write') end
  end
end
if limits then limits.write() end
if not seen[1] then call('HSET', head, 'v', '${FORMAT}') end
if last > 0 then call('HSET', head, 'n', int(last), 't', int(now)) else call('HSET', head, 't', int(now)) end
redis.pcall('SPUBLISH', ARGV[5], '')
return {'ok', first, ARGV[4] == '1' and epoch(head) or ''}
`

/**
 * The entries after an entry in an index, by rank (S05). Members are compared byte by byte here, because Lua's own
 * comparison depends on the locale.
 *
 * - KEYS: 1 index.
 * - ARGV: 1 min, 2 max, 3 score and 4 member of the entry, 5 '1' for reverse, 6 limit.
 * - Returns member, score, member, score, ... in ascending order, also in reverse: the caller reverses them.
 */
const RANGE_AFTER = `${READS}
local call, num, key = redis.call, tonumber, KEYS[1]
local function less(a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then return x < y end
  end
  return #a < #b
end
local from, to = call('ZCOUNT', key, '-inf', '(' .. ARGV[1]), call('ZCOUNT', key, '-inf', ARGV[2])
local low = call('ZCOUNT', key, '-inf', '(' .. ARGV[3])
local high = low + call('ZCOUNT', key, ARGV[3], ARGV[3])
local function search(passes)
  local a, b = low, high
  while a < b do
    local middle = math.floor((a + b) / 2)
    if passes(call('ZRANGE', key, middle, middle)[1]) then b = middle else a = middle + 1 end
  end
  return a
end
if ARGV[5] == '1' then
  to = math.min(to, search(function(member) return not less(member, ARGV[4]) end))
  from = math.max(from, to - num(ARGV[6]))
else
  from = math.max(from, search(function(member) return less(ARGV[4], member) end))
  to = math.min(to, from + num(ARGV[6]))
end
if from >= to then return {} end
return call('ZRANGE', key, from, to - 1, 'WITHSCORES')
`

/**
 * Claims due entries and moves them to the end of their lease (S07). The script claims no entry when the partition has
 * recorded a time later than the end of the lease. In that case, each commit of the claimant would be late, and the
 * entry would be claimed again and again.
 *
 * - KEYS: 1 index, 2 head.
 * - ARGV: 1 now, 2 end of the lease, 3 limit, 4 the latest time that the partition may have recorded.
 * - Returns the entries, or nil when it claims nothing.
 */
const CLAIM = `${WRITES}
local seen = tonumber(redis.call('HGET', KEYS[2], 't') or '0')
if seen > tonumber(ARGV[4]) then return nil end
local due = redis.call('ZRANGE', KEYS[1], '-inf', ARGV[1], 'BYSCORE', 'LIMIT', 0, ARGV[3], 'WITHSCORES')
for i = 1, #due, 2 do redis.call('ZADD', KEYS[1], 'XX', ARGV[2], due[i]) end
return due
`

/** The partition's epoch (S19). KEYS: 1 head. */
const EPOCH = `${READS}${PRELUDE}
return epoch(KEYS[1])
`

/**
 * A dummy write before WAIT. Replicas that confirm the write have all earlier writes as well.
 *
 * - KEYS: 1 head.
 * - ARGV: 1 some text.
 * - Returns the epoch. A different epoch than the commit's means a different server, which may lack the commit.
 */
const BARRIER = `${WRITES}${PRELUDE}
call('HSET', KEYS[1], 'w', ARGV[1])
return epoch(KEYS[1])
`

/**
 * Returns the commands of the scripts that the user may not run. With a missing permission, Redis would stop a commit
 * halfway.
 *
 * - ARGV: 1 the start of the keys, 2 `confirmed` when replicas confirm commits.
 * - Returns the names of commands.
 */
const RIGHTS = `${READS}
local key, missing = ARGV[1] .. ':{t}:h', {}
for _, command in ipairs({
  { 'GET', key }, { 'GETRANGE', key, '0', '1' }, { 'SET', key, '' }, { 'DEL', key }, { 'HGET', key, 'n' }, { 'HMGET', key, 'n' }, { 'HSET', key, 'n', '1' },
  { 'XADD', key, '1-0', 'c', '' }, { 'XDEL', key, '1-0' }, { 'XTRIM', key, 'MINID', '1-0' }, { 'ZADD', key, '1', 'm' }, { 'ZREM', key, 'm' }, { 'ZCOUNT', key, '1', '1' }, { 'ZRANGE', key, '1', '1' },
  { 'SPUBLISH', ARGV[1] .. ':{t}:w', '' }, { 'EVALSHA', '', '1', key }, { 'INFO', 'replication' }, { 'TIME' },
  { 'XRANGE', key, '-', '+' }, unpack(ARGV[2] == 'confirmed' and { { 'WAIT', '1', '1' } } or {}),
}) do
  if not redis.acl_check_cmd(unpack(command)) then missing[#missing + 1] = command[1] end
end
return missing
`

export const SCRIPTS = {
  commit: script(COMMIT),
  rangeAfter: script(RANGE_AFTER),
  claim: script(CLAIM),
  epoch: script(EPOCH),
  barrier: script(BARRIER),
  rights: script(RIGHTS),
} as const

function script(source: string): Script {
  return { source, sha: createHash('sha1').update(source).digest('hex') }
}
